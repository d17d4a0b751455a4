"""The door: readers together, a writer alone, and a writer that waits is let in."""

from __future__ import annotations

import threading
import time

import pytest

from graphsurgeon.errors import PlanError
from graphsurgeon.graph import concurrency
from graphsurgeon.graph.concurrency import BusyError, RWLock, acquire_all
from tests.refusal import refuses
from tests.until import until


def test_a_writer_is_alone_and_gets_in_among_readers_without_a_pause():
    door, stop = RWLock(), threading.Event()
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
    door, done = RWLock(), threading.Event()

    def write():
        with door.writing():
            done.set()

    with door.reading():
        writer = threading.Thread(target=write)
        writer.start()
        until(lambda: concurrency._waiting_requests)
        with door.reading():  # would wait for the writer, who waits for us
            assert not done.is_set()
    writer.join()
    assert done.is_set()


def test_who_writes_may_read_and_who_reads_must_not_write():
    door = RWLock()
    with door.writing(), door.reading():
        pass
    with refuses(PlanError, "update()", "this thread is reading", "outside of"), door.reading(), door.writing():
        pass
    with refuses(PlanError, "this thread is reading"), door.writing(), door.writing():
        pass
    with door.writing():  # nothing is left locked
        pass


def test_readers_are_not_kept_out_by_a_writer_that_comes_again_and_again():
    door, stop, seen = RWLock(), threading.Event(), []

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
            until(lambda: concurrency._waiting_requests or stop.is_set())
        writes += 1
    thread.join()
    assert len(seen) == 20
    assert writes <= 22  # each reader waits for one of them


def test_a_reader_that_gives_up_leaves_no_place_behind(monkeypatch):
    door = RWLock()
    with door.writing():
        monkeypatch.setattr(
            concurrency._lock_condition, "wait_for", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)
        )
        thread = threading.Thread(target=lambda: _interrupted(door))
        thread.start()
        thread.join()
        monkeypatch.undo()
    with door.writing():
        pass
    assert not door.is_reader()
    assert not concurrency._waiting_requests


def _interrupted(door):
    with pytest.raises(KeyboardInterrupt), door.reading():
        pass


def waiting(count):
    """Waits until so many requests wait."""
    until(lambda: len(concurrency._waiting_requests) == count)


def inside(done, *args, **options):
    """A thread that goes through doors and says so."""

    def work():
        with acquire_all(*args, **options):
            done.append(options or "beside")

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_several_doors_are_taken_at_once_and_none_is_held_while_another_is_waited_for():
    one, other, done = RWLock(), RWLock(), []
    with acquire_all([other]):
        both = inside(done, exclusive=[one, other])
        waiting(1)
        assert one._writer is None  # not held
        with acquire_all(exclusive=[one]):  # who is inside of a door waits for nobody who only waits
            assert not done
    both.join(10)
    assert done == [{"exclusive": [one, other]}]


def test_who_came_first_goes_in_first():
    door, done = RWLock(), []
    with acquire_all([door]):
        threads = [inside(done, exclusive=[door])]
        waiting(1)
        threads.append(inside(done, [door]))
        waiting(2)
        assert not done
    for thread in threads:
        thread.join(10)
    assert done == [{"exclusive": [door]}, "beside"]


def test_who_may_need_others_inside_gets_them_inside_though_a_writer_came_first():
    door, done = RWLock(), []
    with acquire_all([door], open_ended=True):
        writer = inside(done, exclusive=[door])
        waiting(1)
        inside(done, [door]).join(10)
        assert done == ["beside"]
    writer.join(10)
    assert done == ["beside", {"exclusive": [door]}]


def test_waiting_ends_in_time():
    door = RWLock()
    with acquire_all([door]):
        failed = []

        def work():
            try:
                with acquire_all(exclusive=[door], timeout=0.01):
                    pass
            except BusyError as error:
                failed.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join(10)
        assert len(failed) == 1
    assert not concurrency._waiting_requests


def test_a_thread_that_is_inside_may_be_alone_there_when_nobody_else_is():
    door = RWLock()
    with acquire_all([door]), acquire_all(exclusive=[door]):
        assert door.is_alone()
