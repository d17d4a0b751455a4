"""Draws the pictures of the operations of a plan, docs/reference/operations/*.svg: python tools/write_operations.py.

A test compares the stored pictures with the code of the page.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.test_operations import PICTURES, drawn


def main() -> int:
    """Writes a picture for each operation, and removes those of no operation."""
    PICTURES.mkdir(exist_ok=True)
    pictures = drawn()
    for name, picture in pictures.items():
        (PICTURES / f"{name}.svg").write_text(picture)
        print(f"{name}.svg: {len(picture):,} bytes", flush=True)
    for old in PICTURES.iterdir():
        if old.stem not in pictures:
            old.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
