"""Takes the pictures of the tutorials' steps in a real JupyterLab: python tools/write_screenshots.py [00 05].

Each step is done by mouse, as its notebook asks for it, and the widget is pictured after it: what a picture shows is
what the notebook does. Chromium must be installed (tools/setup.sh chromium).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))


def main(arguments: list[str]) -> int:
    """Takes the pictures of these notebooks, by default of all; returns the exit code."""
    os.environ["GRAPHSURGEON_IMAGES"] = "1"
    chosen = " or ".join(f"[{number}]" for number in arguments)
    tests = Path(__file__).parent.parent / "tests" / "jupyter" / "test_tutorials.py"
    return pytest.main(["-q", "-rs", "-p", "no:cacheprovider", "--tier", "all", str(tests), "-k", chosen or "by_hand"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
