"""The door: readers together, a writer alone, and a writer that waits is let in."""

from __future__ import annotations

import threading
import time

import pytest

from graphsurgeon.core.door import Door
from graphsurgeon.errors import PlanError
from tests.refusal import refuses
from tests.until import until


def test_a_writer_is_alone_and_gets_in_among_readers_without_a_pause():
    door, stop = Door(), threading.Event()
    together = threading.Event()
    inside: list[str] = []
    wrong: list[list[str]] = []

    def work(name):
        while not stop.is_set():
            with door.reading():
                inside.append(name)
                time.sleep(0)
                if "writer" in inside:
                    wrong.append(list(inside))
                if len(inside) > 1:
                    together.set()
                inside.remove(name)

    readers = [threading.Thread(target=work, args=(f"reader {i}",)) for i in range(4)]
    for reader in readers:
        reader.start()
    try:
        for _ in range(30):
            with door.writing():
                inside.append("writer")
                assert inside == ["writer"]
                inside.remove("writer")
            together.clear()
            until(together.is_set)
    finally:
        stop.set()
        for reader in readers:
            reader.join()
    assert not wrong


def test_a_reader_goes_in_again_while_a_writer_waits():
    door, done = Door(), threading.Event()

    def write():
        with door.writing():
            done.set()

    with door.reading():
        writer = threading.Thread(target=write)
        writer.start()
        until(lambda: door._waiting)
        with door.reading():  # would wait for the writer, who waits for us
            assert not done.is_set()
    writer.join()
    assert done.is_set()


def test_who_writes_may_read_and_who_reads_must_not_write():
    door = Door()
    with door.writing(), door.reading():
        pass
    with refuses(PlanError, "update()", "this thread is reading", "outside of"), door.reading(), door.writing():
        pass
    with refuses(PlanError, "this thread is reading"), door.writing(), door.writing():
        pass
    with door.writing():  # nothing is left locked
        pass


def test_readers_are_not_kept_out_by_a_writer_that_comes_again_and_again():
    door, stop, seen = Door(), threading.Event(), []

    def read():
        for _ in range(20):
            with door.reading():
                seen.append(1)
        stop.set()

    thread = threading.Thread(target=read)
    thread.start()
    writes = 0
    while not stop.is_set():
        with door.writing():
            until(lambda: door._queued or stop.is_set())
        writes += 1
    thread.join()
    assert len(seen) == 20
    assert writes <= 22  # each reader waits for one of them


def test_a_reader_that_gives_up_leaves_no_place_behind(monkeypatch):
    door = Door()
    with door.writing():
        monkeypatch.setattr(door._changed, "wait_for", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
        thread = threading.Thread(target=lambda: _interrupted(door))
        thread.start()
        thread.join()
        monkeypatch.undo()
    with door.writing():
        pass
    assert not door.is_reader()


def _interrupted(door):
    with pytest.raises(KeyboardInterrupt), door.reading():
        pass
