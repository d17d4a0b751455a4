"""Draws the pictures of the cookbook, docs/cookbook/*.svg: python tools/write_cookbook.py.

A test says which are no longer what the entries do.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.test_cookbook import ENTRIES, PICTURES, code_of, done, drawn


def main() -> int:
    """Writes a picture of each graph before, and of each after; takes away those of no entry."""
    made: set[str] = set()
    for question, text in ENTRIES:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            pictures = drawn(question, *done(code_of(text)))
            os.chdir(PICTURES)
        for name, picture in pictures.items():
            (PICTURES / name).write_text(picture)
            print(f"{name}: {len(picture):,} bytes", flush=True)
        made |= set(pictures)
    for old in PICTURES.iterdir():
        if old.name not in made:
            old.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
