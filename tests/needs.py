"""What a test needs beyond Python packages: found, or the test is skipped; in CI it fails instead."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def _program(variable: str, *names: str) -> str | None:
    """Returns the path from the environment variable, or the first of the programs on PATH."""
    found = os.environ.get(variable) or next((p for p in map(shutil.which, names) if p), None)
    return found if found and Path(found).exists() else None


def corpus_folder() -> str | None:
    """Returns the folder of real graphs, beside the checkout or where GRAPHSURGEON_CORPUS says."""
    folder = Path(os.environ.get("GRAPHSURGEON_CORPUS") or ROOT.parent / "shared" / "corpus")
    return str(folder) if (folder / "manifest.json").exists() else None


def _front_end() -> str | None:
    """Returns the front end's folder when its node packages are installed."""
    folder = ROOT / "graphsurgeon" / "ui" / "frontend"
    return str(folder) if shutil.which("npm") and (folder / "node_modules").is_dir() else None


_FIND: dict[str, tuple[Callable[[], str | None], str]] = {
    "chromium": (
        lambda: _program("GRAPHSURGEON_CHROMIUM", "chromium", "chromium-browser", "google-chrome"),
        "apt-get install chromium, or set GRAPHSURGEON_CHROMIUM",
    ),
    "corpus": (corpus_folder, "set GRAPHSURGEON_CORPUS to the folder that holds its manifest.json"),
    "firefox": (
        lambda: _program("GRAPHSURGEON_FIREFOX", "firefox-esr", "firefox"),
        "apt-get install firefox-esr, or set GRAPHSURGEON_FIREFOX",
    ),
    "front end": (_front_end, "install Node, then: tools/setup.sh frontend"),
}


def need(what: str, optional: bool = False) -> str:
    """Returns the path of `what`; where it is missing the test is skipped, and with CI=true it fails.

    Args:
        what: "chromium", "corpus", "firefox" or "front end".
        optional: True when CI need not have it either.
    """
    find, remedy = _FIND[what]
    found = find()
    if found:
        return found
    text = f"needs {what}: {remedy}"
    if os.environ.get("CI") == "true" and not optional:
        pytest.fail(text, pytrace=False)
    pytest.skip(text)
