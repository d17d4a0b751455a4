"""Runs the tests with the oldest packages that pyproject.toml allows, and with the newest: python tools/compat.py.

`lowest` is Python 3.11 with every package at its lower bound, `newest` is Python 3.13 with what pip finds today. Each
has its own environment in build/compat, which is kept until the list of packages changes. Left out by default are
browsers, real graphs, notebooks and the deep tier; `--tests` asks for others.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "compat"
PYTHONS = {"lowest": "3.11", "newest": "3.13"}
EXTRAS = ("lab", "test")
#: Nothing of these is of another version here: they look at the code, or at this checkout.
NOT_NEEDED = ("mypy", "ruff", "twine", "rustworkx", "marimo", "websocket-client")
LEFT_OUT = "not browser and not corpus"


def main(arguments: Sequence[str] | None = None) -> int:
    """Prepares each environment, runs the tests in it; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python tools/compat.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("which", nargs="*", help=f"of {', '.join(PYTHONS)}; default: all")
    parser.add_argument(
        "--tests", default="", help="what pytest is given, as one text; default: all that needs no browser"
    )
    parser.add_argument("--folder", type=Path, default=FOLDER, help="folder of the environments")
    given = parser.parse_args(arguments)
    if unknown := [one for one in given.which if one not in PYTHONS]:
        parser.error(f"{unknown[0]!r} is not one of {', '.join(PYTHONS)}")
    rows, failed = [], False
    for which in given.which or PYTHONS:
        python = interpreter(PYTHONS[which])
        if python is None:
            where = "on the PATH or in the folder that GRAPHSURGEON_PYTHONS names"
            rows.append(f"{which}: NOT RUN, there is no Python {PYTHONS[which]} {where}")
            failed = True
            continue
        folder = prepared(given.folder / which, python, requirements(which))
        done = run(folder, shlex.split(given.tests) or ["tests"])
        failed |= done.returncode != 0
        rows.append(f"{which}: {versions(folder)}: {last(done.stdout)}")
        if done.returncode:
            print(done.stdout[-20_000:], done.stderr[-5_000:])
    print(*rows, sep="\n")
    return int(failed)


def requirements(which: str) -> list[str]:
    """Returns what is installed: each package of pyproject.toml, at its lower bound or at any version above it.

    Example:
        >>> "numpy==1.26" in requirements("lowest"), "numpy>=1.26" in requirements("newest")
        (True, True)
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = [*project["dependencies"], *(x for extra in EXTRAS for x in project["optional-dependencies"][extra])]
    kept = [line for line in lines if line.partition(">=")[0] not in NOT_NEEDED]
    return [line.replace(">=", "==") if which == "lowest" else line for line in kept]


def interpreter(version: str) -> str | None:
    """Returns a Python of this version that runs: of the folder in GRAPHSURGEON_PYTHONS, of the PATH, or this one."""
    folder = os.environ.get("GRAPHSURGEON_PYTHONS")
    places = [str(path) for path in sorted(Path(folder).glob(f"{version}*/bin/python"))] if folder else []
    places += [place for place in (shutil.which(f"python{version}"), sys.executable) if place]
    ask = "import sys, venv; print('%d.%d' % sys.version_info[:2])"
    for place in places:
        done = subprocess.run([place, "-c", ask], capture_output=True, text=True, check=False)
        if done.returncode == 0 and done.stdout.strip() == version:
            return place
    return None


def prepared(folder: Path, python: str, packages: Sequence[str]) -> Path:
    """Returns an environment with these packages; one that is there with the same list is taken as it is."""
    stamp = folder / "packages.sha256"
    wanted = hashlib.sha256("\n".join([python, *packages]).encode()).hexdigest()
    if not stamp.exists() or stamp.read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([python, "-m", "venv", str(folder)], check=True)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        subprocess.run([*pip, "--upgrade", "pip"], check=True)
        subprocess.run([*pip, *packages], check=True)
        stamp.write_text(wanted)
    return folder


def run(folder: Path, tests: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Runs tests of this checkout with the Python of an environment."""
    command = [str(folder / "bin" / "python"), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", LEFT_OUT, *tests]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)


def versions(folder: Path) -> str:
    """Returns what an environment has, in a few words."""
    ask = (
        "import platform; from importlib.metadata import version as v; names = ('tensorflow', 'numpy', 'keras'); "
        "print('Python ' + platform.python_version(), *(f'{n} {v(n)}' for n in names), sep=', ')"
    )
    done = subprocess.run([str(folder / "bin" / "python"), "-c", ask], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def last(text: str) -> str:
    """Returns the last line of what pytest printed."""
    return next((line for line in reversed(text.splitlines()) if line.strip()), "nothing was printed")


if __name__ == "__main__":
    sys.exit(main())
