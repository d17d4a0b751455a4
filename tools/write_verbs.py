"""Writes what is made from the table of verbs: types and keys of the page, examples, keys in notebook 00, docs."""

from __future__ import annotations

import json
import re
from pathlib import Path

from graphsurgeon.screen import verbs

ROOT = Path(__file__).resolve().parent.parent
FRONTEND = ROOT / "graphsurgeon" / "widget" / "frontend"
NOTEBOOK = ROOT / "notebooks" / "00_start_here.ipynb"
_TABLE = re.compile(r"^\|.*?\|$(?:\n^\|.*\|$)*", re.MULTILINE)
_PAGE = """# All verbs of the screen

Each gesture is a method of `ed.screen`, and each method is a message of the page:
`widget.simulate("select", names=["a"])` sends what a click on the box `a` sends.

"""


def written() -> dict[Path, str]:
    """Returns what each file must hold."""
    return {
        FRONTEND / "src" / "table.ts": verbs.typescript(),
        FRONTEND / "src" / "results.ts": verbs.typescript_results(),
        FRONTEND / "tests" / "examples.ts": verbs.typescript_examples(),
        NOTEBOOK: _notebook(),
        ROOT / "docs" / "verbs.md": _PAGE + verbs.verbs_table() + "\n",
    }


def _notebook() -> str:
    """Returns the notebook with the table under "All keys" written anew."""
    book = json.loads(NOTEBOOK.read_text())
    for cell in book["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown" and text.startswith("## All keys"):
            new = _TABLE.sub(lambda _: verbs.keys_table(), text, count=1)
            cell["source"] = new.splitlines(keepends=True)
    return json.dumps(book, ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    for path, text in written().items():
        path.write_text(text)
