from __future__ import annotations

import signal

import pytest

from graphsurgeon.errors import LayoutError
from graphsurgeon.view import graphviz


def test_system_dot_is_stopped_in_time(fake, monkeypatch):
    dot = fake("signal.pause()")
    started, start = [], graphviz.subprocess.Popen
    monkeypatch.setattr(graphviz.subprocess, "Popen", lambda *a, **b: started.append(start(*a, **b)) or started[-1])
    with pytest.raises(graphviz.LayoutTimeout):
        dot.run("digraph {}", 0.2, lambda: False)
    asked = iter([False, False, False, True])
    with pytest.raises(graphviz.LayoutCancelled):
        dot.run("digraph {}", 600, lambda: next(asked))
    assert [process.returncode for process in started] == [-signal.SIGKILL] * 2
    with pytest.raises(graphviz.LayoutCancelled):
        dot.run("digraph {}", 600, lambda: True)
    assert len(started) == 2


def test_system_dot_that_fails(fake):
    with pytest.raises(LayoutError, match="the system's dot ended with code 3: no such thing"):
        fake("sys.stderr.write('warning\\nno such thing\\n'); raise SystemExit(3)").run("", 9, lambda: False)
