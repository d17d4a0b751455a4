"""Writes the tables of what is kept of a whole model into the guide to saving, from the data of the tests."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
PAGE = ROOT / "docs" / "guides" / "saving.md"


def written() -> str:
    """Returns the text of the page with the current tables."""
    from tests import keras_things, whole_models

    doors = list(whole_models.DOORS)
    rows = [[thing, way, *cells] for (thing, way), cells in whole_models.CELLS.items()]
    signatures = table(["of the model", "opened from", *doors], joined(rows))
    titles = [keras_things.title(door) for door in keras_things.DOORS]
    keras = table(["of the Keras model", *titles], [[thing, *cells] for thing, cells in keras_things.CELLS.items()])
    return replaced(PAGE.read_text(encoding="utf-8"), {"whole": signatures, "keras": keras})


def joined(rows: Iterable[Sequence[str]]) -> list[list[str]]:
    """Returns rows in which the ways in with equal cells share a row."""
    ways: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for thing, way, *cells in rows:
        ways.setdefault((thing, tuple(cells)), []).append(way)
    return [[thing, ", ".join(names), *cells] for (thing, cells), names in ways.items()]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Returns a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"|{'|'.join(line)}|" if line[0] == "---" else f"| {' | '.join(line)} |" for line in lines)


def replaced(text: str, tables: Mapping[str, str]) -> str:
    """Returns a page with other tables between the comments with their names."""
    for name, new in tables.items():
        pattern = rf"(<!-- table {name} -->\n).*?(<!-- end of {name} -->)"
        text, count = re.subn(pattern, lambda found, new=new: f"{found[1]}\n{new}\n\n{found[2]}", text, flags=re.DOTALL)
        assert count == 1, name
    return text


if __name__ == "__main__":
    PAGE.write_text(written(), encoding="utf-8")
