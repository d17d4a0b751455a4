"""Builds the documentation into build/docs, warnings as errors, without a network: python tools/build_docs.py.

It first writes the source into build/docs_source: the pages of docs/, the notebooks with their stored outputs, the
gallery of notebooks, live pages of five models, and tables made from docstrings. No notebook is run.
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
sys.path.insert(0, str(ROOT))
SOURCE, SITE = ROOT / "build" / "docs_source", ROOT / "build" / "docs"
_ROW = re.compile(r"^\| \[(?P<title>[^]]+)\]\(notebooks/(?P<stem>\w+)\.ipynb\) \| (?P<problem>.+) \|$")
_PARAMETERS = re.compile(r"<!-- parameters: (\w+)\.(\w+) -->")
_SUMMARY = re.compile(r"<!-- summary: (\w+)\.([\w\s]+) -->")
_METHOD = re.compile(r"\[`([^`]+)`\]\([\w/]+\.md#(graphsurgeon[\w.]+)\)")
PROJECT = {
    "CHANGELOG.md": "changes.md", "CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
}  # fmt: skip
"""File at the top of the repository -> its page."""
PAGES_OF = {**PROJECT, "README.md#notebooks": "tutorials.md"}
_OUTSIDE = re.compile(rf"\]\(\.\./((?:\.\./)*)({'|'.join(map(re.escape, PAGES_OF))})\)")
"""A link from docs/ to a file at the top of the repository."""
_GALLERY = """# Tutorials

Each notebook solves one problem and runs in under a minute. The pages show the stored outputs. `make lab` opens the
notebooks in JupyterLab.

"""


def main(arguments: list[str] | None = None) -> int:
    """Writes the source and builds the site; returns Sphinx's exit code."""
    parser = argparse.ArgumentParser(prog="python tools/build_docs.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--to", type=Path, default=SITE, help="folder of the site")
    parser.add_argument("--source", type=Path, default=SOURCE, help="folder of its source")
    given = parser.parse_args(arguments)
    stage(given.source)
    from sphinx.cmd.build import main as sphinx

    code = sphinx(["-q", "-E", "-W", "--keep-going", "-b", "html", str(given.source), str(given.to)])
    if not code:
        print(given.to / "index.html")
    return code


def stage(source: Path) -> None:
    """Writes the source of the site into an empty folder."""
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(ROOT / "docs", source, ignore=shutil.ignore_patterns("__pycache__"))
    (source / "tutorials").mkdir(exist_ok=True)
    for notebook in (ROOT / "notebooks").glob("*.ipynb"):
        shutil.copy(notebook, source / "tutorials")
    shutil.copytree(ROOT / "notebooks" / "images", source / "tutorials" / "images")
    (source / "tutorials.md").write_text(gallery(source))
    live(source)
    for name, page in PROJECT.items():
        text = (ROOT / name).read_text().replace("](docs/", "](")  # here they are next to these pages
        for other, there in PROJECT.items():
            text = text.replace(f"]({other})", f"]({there})")
        (source / page).write_text(text)
    for page in source.rglob("*.md"):
        text = page.read_text()
        new = _PARAMETERS.sub(lambda found: parameters(*found.groups()), text)
        new = _SUMMARY.sub(lambda found: summary(found[1], found[2].split()), new)
        new = re.sub("<!-- help -->", lambda _: commands(), new)
        new = _OUTSIDE.sub(lambda found: f"]({found[1]}{PAGES_OF[found[2]]})", new)
        new = _METHOD.sub(r"{py:meth}`\1 <\2>`", new)  # Sphinx makes their anchors from docstrings
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
    """Returns the path of a notebook's picture in the site: the picture of its header, else its first output."""
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


MODELS = {
    "MobileNetV2": "a small image classifier: 17 blocks of depthwise convolutions",
    "ResNet50": "residual blocks in four stages",
    "DenseNet121": "blocks in which each layer uses the outputs of all earlier ones",
    "InceptionV3": "blocks of parallel convolutions",
    "EfficientNetB0": "blocks with squeeze and excitation",
}
"""Model of `keras.applications` -> what it is."""
_LIVE = """# Live pages

Each link opens a page that `ed.to_html()` wrote. You can fold, unfold and search the graph in your browser, without an
installation. Double-click a box to unfold it, and press `/` to search. The models have random weights.

| model | ops | |
|---|--:|---|
"""


def live(source: Path) -> None:
    """Writes the live pages of the models into `_live/live`, and the page that links them."""
    import keras

    import graphsurgeon as gs

    folder = source / "_live" / "live"
    folder.mkdir(parents=True)
    rows = []
    for name, what in MODELS.items():
        ed = gs.open(getattr(keras.applications, name)(weights=None), title=name)
        (folder / f"{name}.html").write_text(ed.to_html())
        rows.append(f'| <a href="live/{name}.html">{name}</a> | {len(ed):,} | {what} |\n')
        keras.backend.clear_session()
    (source / "live.md").write_text(_LIVE + "".join(rows))


def summary(owner: str, names: list[str]) -> str:
    """Returns a table of methods and properties of a class, with the first sentence of each docstring.

    Example:
        >>> print(summary("Plan", ["swap"]).splitlines()[2].split("`")[1])
        Plan.swap
    """
    import graphsurgeon

    found = getattr(graphsurgeon, owner)
    rows = ["| | |", "|---|---|"]
    for name in names:
        text = " ".join((inspect.getdoc(getattr(found, name)) or "").partition("\n\n")[0].split())
        first = re.split(r"(?<=[\w`)\]]{2}[.;:])\s", text)[0].rstrip(".;:").replace("``", "`").replace("|", "\\|")
        rows.append(f"| {{py:obj}}`{name} <graphsurgeon.{owner}.{name}>` | {first} |")
    return "\n".join(rows)


def parameters(owner: str, name: str) -> str:
    """Returns a table of the parameters of a method: name, default and meaning, from its docstring.

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
    """Returns the help texts of the command line and of each command."""
    whole = _help()
    each = [whole, *(_help(word) for word in re.findall(r"^    (\w+) +\S", whole, re.M))]
    return "\n".join(f"```text\n{text}```\n" for text in each)


def _help(*words: str) -> str:
    asked = [sys.executable, "-m", "graphsurgeon", *words, "--help"]
    return subprocess.run(asked, cwd=ROOT, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
