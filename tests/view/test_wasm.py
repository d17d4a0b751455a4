from __future__ import annotations

import contextlib
import json
import threading
import time

import pytest

from graphsurgeon.errors import LayoutError
from graphsurgeon.view import wasm

SMALL = "digraph { a -> b -> c }"


def slow():
    """Returns DOT text that takes Graphviz minutes."""
    lines = [f"n{i} -> n{(i * 7919 + k * 31) % 1200};" for i in range(1200) for k in range(3)]
    return "digraph { " + "\n".join(lines) + " }"


def test_render():
    found = json.loads(wasm.render(SMALL))
    assert [thing["name"] for thing in found["objects"]] == ["a", "b", "c"]


def test_refused_text():
    with pytest.raises(LayoutError, match="Graphviz refused: Failed to parse DOT source"):
        wasm.render("digraph { -> ")


def test_timeout():
    started = time.monotonic()
    with pytest.raises(wasm.LayoutTimeout, match=r"did not finish within 0\.2 s"):
        wasm.render(slow(), timeout=0.2)
    assert time.monotonic() - started < 2
    assert wasm.render(SMALL)  # the machine is as good as new


def test_cancel_before_and_while_running():
    with pytest.raises(wasm.LayoutCancelled, match="it was called off"):
        wasm.render(SMALL, cancelled=lambda: True)
    end = time.monotonic() + 0.2
    with pytest.raises(wasm.LayoutCancelled):
        wasm.render(slow(), timeout=30, cancelled=lambda: time.monotonic() > end)
    assert time.monotonic() - end < 2


def test_stopping_one_call_leaves_the_others_alone():
    results: dict[int, object] = {}
    stop = threading.Event()

    def run(number):
        text = slow() if number == 0 else "digraph { " + " ".join(f"a{i} -> b{i};" for i in range(300)) + " }"
        try:
            results[number] = len(wasm.render(text, timeout=60, cancelled=stop.is_set if number == 0 else bool))
        except LayoutError as error:
            results[number] = error

    threads = [threading.Thread(target=run, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    stop.set()
    for thread in threads:
        thread.join(60)
    assert isinstance(results[0], wasm.LayoutCancelled)
    assert isinstance(results[1], int)
    assert results[1] == results[2]


def test_memory_has_a_limit(monkeypatch):
    monkeypatch.setattr(wasm, "MEMORY", 4 << 20)
    with pytest.raises(LayoutError):
        wasm.render(slow(), timeout=30)


def test_missing_packages(monkeypatch):
    assert wasm.missing() == ""
    monkeypatch.setattr(wasm.importlib.util, "find_spec", lambda name: None)
    assert wasm.missing() == "the package wasmtime is not installed"


def test_describe_names_versions():
    assert "wasmtime" in wasm.describe()


def test_other_threads_go_on_during_a_layout():
    done = threading.Event()

    def lay_out():
        with contextlib.suppress(LayoutError):
            wasm.render(slow(), timeout=1.5)
        done.set()

    wasm.render(SMALL)  # what the first call makes ready is no part of a layout
    worker, turns, end = threading.Thread(target=lay_out), 0, time.monotonic() + 1
    worker.start()
    while time.monotonic() < end:
        time.sleep(0.01)
        turns += 1
    assert not done.is_set()
    worker.join(10)
    assert turns > 30  # of a hundred, on a machine with nothing else to do
