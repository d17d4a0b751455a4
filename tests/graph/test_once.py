"""Properties that are computed once: threads wait for the value, and an error leaves nothing behind."""

from __future__ import annotations

import threading

import pytest

from graphsurgeon.graph.concurrency import once


class Counted:
    """Counts how often its value is computed; a computation waits for `go`."""

    def __init__(self):
        self.lock, self.started, self.go = threading.RLock(), threading.Event(), threading.Event()
        self.seen: list[object] = []
        self.fails = False

    @once(recursive_value=lambda thing: "provisional")
    def value(self):
        """The value."""
        self.seen.append(self.value)
        self.started.set()
        self.go.wait()
        if self.fails:
            raise ValueError("not this time")
        return "complete"


def test_a_computation_that_reads_itself_gets_the_provisional_value():
    thing = Counted()
    thing.go.set()
    assert thing.value == "complete"
    assert thing.value == "complete"
    assert thing.seen == ["provisional"]
    assert Counted.value.__doc__ == "The value."


def test_other_threads_wait_for_the_complete_value():
    thing, found = Counted(), []
    threads = [threading.Thread(target=lambda: found.append(thing.value), daemon=True) for _ in range(3)]
    threads[0].start()
    thing.started.wait()
    for thread in threads[1:]:
        thread.start()
    assert found == []
    thing.go.set()
    for thread in threads:
        thread.join()
    assert found == ["complete"] * 3
    assert thing.seen == ["provisional"]


def test_an_error_is_raised_and_the_next_read_computes_again():
    thing = Counted()
    thing.go.set()
    thing.fails = True
    for _ in range(2):
        with pytest.raises(ValueError, match="not this time"):
            _ = thing.value
    thing.fails = False
    assert thing.value == "complete"
    assert thing.seen == ["provisional"] * 3
