"""Builds the documentation into build/docs, warnings as errors, without a network: python tools/build_docs.py.

Its source is put together first, in build/docs_source: the pages of docs/, the notebooks as they were run, the gallery
made of the README's tables and of the picture of each notebook, and what the code itself says.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SOURCE, SITE = ROOT / "build" / "docs_source", ROOT / "build" / "docs"
_ROW = re.compile(r"^\| \[(?P<title>[^]]+)\]\(notebooks/(?P<stem>\w+)\.ipynb\) \| (?P<problem>.+) \|$")
_PARAMETERS = re.compile(r"<!-- parameters: (\w+)\.(\w+) -->")
_METHOD = re.compile(r"\[`([^`]+)`\]\([\w/]+\.md#(graphsurgeon[\w.]+)\)")
_GALLERY = """# Tutorials

Each solves one problem, stands alone and runs in under a minute. They are shown as they were run; `make lab` opens
them.

"""


def main(arguments: list[str] | None = None) -> int:
    """Puts the source together and builds the site; returns Sphinx's exit code."""
    parser = argparse.ArgumentParser(prog="python tools/build_docs.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--to", type=Path, default=SITE, help="where the site goes")
    parser.add_argument("--source", type=Path, default=SOURCE, help="where its source is put together")
    given = parser.parse_args(arguments)
    stage(given.source)
    from sphinx.cmd.build import main as sphinx

    code = sphinx(["-q", "-W", "--keep-going", "-b", "html", str(given.source), str(given.to)])
    if not code:
        print(given.to / "index.html")
    return code


def stage(source: Path) -> None:
    """Writes the source of the site into an empty folder."""
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(ROOT / "docs", source, ignore=shutil.ignore_patterns("__pycache__"))
    (source / "tutorials").mkdir()
    for notebook in (ROOT / "notebooks").glob("*.ipynb"):
        shutil.copy(notebook, source / "tutorials")
    shutil.copytree(ROOT / "notebooks" / "images", source / "tutorials" / "images")
    (source / "tutorials.md").write_text(gallery(source))
    for name, page in (("CHANGELOG", "changes"), ("CONTRIBUTING", "contributing")):
        text = (ROOT / f"{name}.md").read_text()
        (source / f"{page}.md").write_text(text.replace("](docs/", "]("))  # here they stand beside these pages
    for page in source.rglob("*.md"):
        text = page.read_text()
        new = _PARAMETERS.sub(lambda found: parameters(*found.groups()), text)
        new = re.sub("<!-- help -->", lambda _: commands(), new)
        new = _METHOD.sub(r"{py:meth}`\1 <\2>`", new)  # whose places Sphinx makes of docstrings
        if new != text:
            page.write_text(new)


def gallery(source: Path) -> str:
    """Returns the page of all notebooks: picture, problem, link, in the order and the tiers of the README."""
    readme = (ROOT / "README.md").read_text()
    out = [_GALLERY]
    for part in readme.partition("\n## Notebooks\n")[2].partition("\n## ")[0].split("\n### ")[1:]:
        tier, _, table = part.partition("\n")
        rows = [found for found in map(_ROW.match, table.splitlines()) if found]
        out += [f"## {tier}\n\n| | |\n|---|---|\n"]
        for row in rows:
            image = _picture(source, row["stem"])
            words = f"**[{row['title']}](tutorials/{row['stem']}.ipynb)**<br>{row['problem']}"
            out.append(f"| ![]({image}) | {words} |\n" if image else f"| | {words} |\n")
        pages = "".join(f"tutorials/{row['stem']}\n" for row in rows)
        out.append(f"\n```{{toctree}}\n:hidden:\n:caption: {tier}\n\n{pages}```\n\n")
    return "".join(out)


def _picture(source: Path, stem: str) -> str:
    """Returns where the picture of a notebook is in the site: that of its header, else the first that it drew."""
    book = json.loads((source / "tutorials" / f"{stem}.ipynb").read_text())
    shown = re.search(r"!\[[^]]*\]\((images/[^)]+)\)", "".join(book["cells"][0]["source"]))
    if shown:
        return f"tutorials/{shown[1]}"
    outputs = [out.get("data", {}) for cell in book["cells"] for out in cell.get("outputs", ())]
    found = next((data["image/svg+xml"] for data in outputs if "image/svg+xml" in data), None)
    if found is None:
        return ""
    (source / "tutorials" / f"{stem}.svg").write_text("".join(found))
    return f"tutorials/{stem}.svg"


def parameters(owner: str, name: str) -> str:
    """Returns a table of the parameters of a method: name, default, what it means, as its docstring says.

    Example:
        >>> print(parameters("Plan", "swap").splitlines()[0])
        | parameter | default | meaning |
    """
    import graphsurgeon

    function: Any = getattr(getattr(graphsurgeon, owner), name)
    doc = inspect.getdoc(function) or ""
    block = re.search(r"^Args:\n((?:    .*\n|\n)+)", doc + "\n", re.M)
    words = {}
    for found in re.finditer(r"^    ([\w, *]+): (.*(?:\n        .*)*)", block[1] if block else "", re.M):
        for one in found[1].split(", "):
            words[one.strip("* ")] = " ".join(found[2].split())
    rows = ["| parameter | default | meaning |", "|---|---|---|"]
    for each in list(inspect.signature(function).parameters.values())[1:]:
        default = "" if each.default is each.empty else f"`{each.default!r}`"
        rows.append(f"| `{each.name}` | {default} | {words[each.name].replace('|', chr(92) + '|')} |")
    return "\n".join(rows)


def commands() -> str:
    """Returns what the command line says of itself and of each of its commands."""
    whole = _help()
    each = [whole, *(_help(word) for word in re.findall(r"^    (\w+) +\S", whole, re.M))]
    return "\n".join(f"```text\n{text}```\n" for text in each)


def _help(*words: str) -> str:
    asked = [sys.executable, "-m", "graphsurgeon", *words, "--help"]
    return subprocess.run(asked, cwd=ROOT, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
