"""Writes the outputs and pictures of the cookbook, docs/cookbook.md and docs/cookbook/*.svg.

Run python tools/write_cookbook.py after a change. A test lists the outputs and pictures that differ.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.test_cookbook import ENTRIES, PICTURES, TEXT, code_of, done, drawn


def main() -> int:
    """Writes the output of each entry, and a picture of its graph before and after; removes other pictures."""
    made: set[str] = set()
    page = TEXT
    for question, text in ENTRIES:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            before, after, printed = done(code_of(text))
            pictures = drawn(question, before, after)
            os.chdir(PICTURES)
        for name, picture in pictures.items():
            (PICTURES / name).write_text(picture)
            print(f"{name}: {len(picture):,} bytes", flush=True)
        made |= set(pictures)
        new = re.sub(r"```text\n.*?```", lambda _, now=printed: f"```text\n{now}```", text, flags=re.DOTALL)
        page = page.replace(text, new)
    for old in PICTURES.iterdir():
        if old.name not in made:
            old.unlink()
    (PICTURES.parent / "cookbook.md").write_text(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
