"""Builds the files of a release into dist and checks them, without publishing anything: python tools/release.py.

The version must be the same in three places and in the tag. The files must contain everything they need and nothing
else. The wheel built from the sdist must be the same. PyPI must accept and render them.
"""

from __future__ import annotations

import argparse
import configparser
import hashlib
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MUST = (
    "graphsurgeon/__init__.py",
    "graphsurgeon/py.typed",
    "graphsurgeon/ui/static/widget.js",
)
"""The files that a wheel needs in addition to the Python files of the package and the files in `static`."""
#: Folders and suffixes of which a wheel has none.
FOREIGN = re.compile(r"(^|/)(tests|notebooks|docs|frontend|node_modules|__pycache__)/|\.(pyc|ipynb|ts|map)$")
INSTALLED = "graphsurgeon.__main__:main"


class Wrong(Exception):
    """The release must not be published."""


def main(arguments: list[str] | None = None) -> int:
    """Builds and checks; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python tools/release.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--to", type=Path, default=ROOT / "dist", help="folder of the files; removes an older release")
    parser.add_argument("--tag", default="", help="the tag that is released, as v0.1.0; default: none, a dry run")
    given = parser.parse_args(arguments)
    try:
        number = version(ROOT, given.tag)
        given.to.mkdir(parents=True, exist_ok=True)
        for old in (*given.to.glob("*.whl"), *given.to.glob("*.tar.gz")):
            old.unlink()
        sdist, wheel = build(ROOT, given.to)
        check_wheel(wheel, ROOT)
        same_from_sdist(sdist, wheel)
        accepted(sdist, wheel)
    except Wrong as wrong:
        print(f"release: {wrong}", file=sys.stderr)
        return 1
    for file in (sdist, wheel):
        print(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.stat().st_size:>9,}  {file.name}")
    print(f"{number} is ready" + ("." if given.tag else "; nothing was published, this was a dry run."))
    return 0


def version(root: Path, tag: str = "") -> str:
    """Returns the version, which the package, CITATION.cff, CHANGELOG.md and the tag must agree on."""
    places = {
        "graphsurgeon/__init__.py": r'^__version__ = "(.+)"$',
        "CITATION.cff": r"^version: (.+)$",
        "CHANGELOG.md": r"^## (\d[^ ]*)",
    }
    said = {}
    for name, pattern in places.items():
        found = re.search(pattern, (root / name).read_text(), re.M)
        said[name] = found[1] if found else "none"
    if tag:
        said["the tag"] = tag.removeprefix("v")
    if len(set(said.values())) > 1:
        raise Wrong("the versions differ: " + ", ".join(f"{name} says {number}" for name, number in said.items()))
    return said["CITATION.cff"]


def build(root: Path, to: Path) -> tuple[Path, Path]:
    """Builds the sdist and the wheel into a folder; returns them."""
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(to.resolve())]
    _run([*command, "-t", "sdist", "-t", "wheel"], root)
    (sdist,), (wheel,) = to.glob("*.tar.gz"), to.glob("*.whl")
    return sdist, wheel


def check_wheel(wheel: Path, root: Path) -> None:
    """Refuses a wheel that lacks something, or holds something that is not of the package."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (about,) = {name.partition("/")[0] for name in names if ".dist-info/" in name}
        scripts = configparser.ConfigParser()
        points = f"{about}/entry_points.txt"
        scripts.read_string(archive.read(points).decode() if points in names else "")
    package = root / "graphsurgeon"
    ours = [p for p in package.rglob("*.py") if not FOREIGN.search(p.relative_to(root).as_posix())]
    ours += [p for p in (package / "widget" / "static").rglob("*") if p.is_file()]
    wanted = {*MUST, *(f"{about}/{name}" for name in ("METADATA", "licenses/LICENSE", "licenses/NOTICE"))}
    wanted |= {p.relative_to(root).as_posix() for p in ours}
    if missing := sorted(wanted - names):
        raise Wrong(f"{wheel.name} lacks {', '.join(missing)}")
    foreign = [n for n in names if FOREIGN.search(n) or not n.startswith(("graphsurgeon/", f"{about}/"))]
    if foreign:
        raise Wrong(f"{wheel.name} holds what is not of the package: {', '.join(sorted(foreign))}")
    if scripts.get("console_scripts", "graphsurgeon", fallback="") != INSTALLED:
        raise Wrong(f"{wheel.name} installs no command `graphsurgeon` that is {INSTALLED}")


def same_from_sdist(sdist: Path, wheel: Path) -> None:
    """Refuses an sdist of which another wheel is built."""
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(sdist) as archive:
            archive.extractall(folder, filter="data")
        (unpacked,) = Path(folder).iterdir()
        _run([sys.executable, "-m", "hatchling", "build", "-d", folder, "-t", "wheel"], unpacked)
        again = _contents(Path(folder) / wheel.name)
    here = _contents(wheel)
    if again != here:
        differs = sorted(name for name in {*again, *here} if again.get(name) != here.get(name))
        raise Wrong(f"the wheel built from {sdist.name} differs in {', '.join(differs)}")


def _contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def accepted(*files: Path) -> None:
    """Refuses what PyPI would refuse or not render."""
    _run([sys.executable, "-m", "twine", "--no-color", "check", "--strict", *map(str, files)], ROOT)


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Wrong(f"{' '.join(command[1:4])} failed:\n{done.stdout}{done.stderr}".rstrip())


if __name__ == "__main__":
    sys.exit(main())
