"""A program `dot` that a test writes."""

from __future__ import annotations

import shlex
import stat
import sys

import pytest

from graphsurgeon.view import graphviz

FAKE = """
import signal, sys
if "-V" in sys.argv:
    sys.stderr.write("dot - graphviz version 99.1\\n"); raise SystemExit
text = sys.stdin.read()
BODY
"""


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """Returns a function that puts a program `dot` with this body alone on the PATH."""

    def make(body):
        script, path = tmp_path / "dot.py", tmp_path / "dot"
        script.write_text(FAKE.replace("BODY", body), encoding="utf-8")
        command = shlex.join([sys.executable, str(script)])  # a first line cannot name a path with a space
        path.write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", str(tmp_path))
        return graphviz.DOT

    return make
