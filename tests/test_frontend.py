"""The front end: its own tests pass, and the committed bundle is what its sources build to."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from tests.needs import ROOT, need

WIDGET = ROOT / "graphsurgeon" / "widget"


def npm(*arguments: str, folder: Path) -> str:
    """Runs an npm script in `folder`; returns what it printed, or fails with it."""
    environment = {**os.environ, "NO_COLOR": "1", "NO_UPDATE_NOTIFIER": "1"}
    done = subprocess.run(
        ["npm", "--silent", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_its_own_tests_pass():
    need("front end")
    npm("test", folder=WIDGET / "frontend")


def test_types_hold():
    need("front end")
    npm("run", "check", folder=WIDGET / "frontend")


def test_bundle_is_what_the_sources_build_to(tmp_path):
    """Built in a copy, so that a test beside this one never sees half a bundle."""
    need("front end")
    copy, skip = tmp_path / "widget", shutil.ignore_patterns("node_modules")
    shutil.copytree(WIDGET / "frontend", copy / "frontend", ignore=skip)
    (copy / "static").mkdir()
    (copy / "frontend" / "node_modules").symlink_to(WIDGET / "frontend" / "node_modules")
    npm("run", "build", folder=copy / "frontend")
    built = {p.name: p.read_bytes() for p in (copy / "static").iterdir() if p.is_file()}
    committed = {p.name: p.read_bytes() for p in (WIDGET / "static").iterdir() if p.is_file()}
    assert built, "the build wrote nothing into static/"
    different = [
        name for name in sorted(set(built) | set(committed)) if built.get(name) != committed.get(name)
    ]
    assert not different, f"{different} differ from what the sources build to: make build, then commit"
