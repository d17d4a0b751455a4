"""The lock: readers together, a writer alone, and a writer that waits is let in."""

from __future__ import annotations

import threading
import time

import pytest

from graphsurgeon.errors import PlanError
from graphsurgeon.graph.concurrency import BusyError, RWLock
from tests.refusal import refuses
from tests.until import until


def test_a_writer_is_alone_and_gets_in_among_readers_without_a_pause():
    lock, stop = RWLock(), threading.Event()
    together = threading.Event()
    inside: list[str] = []
    wrong: list[list[str]] = []

    def work(name):
        while not stop.is_set():
            with lock.reading():
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
            with lock.writing():
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
    lock, done = RWLock(), threading.Event()

    def write():
        with lock.writing():
            done.set()

    with lock.reading():
        writer = threading.Thread(target=write)
        writer.start()
        until(lambda: lock.queue)
        with lock.reading():  # would wait for the writer, who waits for us
            assert not done.is_set()
    writer.join()
    assert done.is_set()


def test_who_writes_may_read_and_who_reads_must_not_write():
    lock = RWLock()
    with lock.writing(), lock.reading():
        pass
    with refuses(PlanError, "update()", "this thread is reading", "outside of"), lock.reading(), lock.writing():
        pass
    with refuses(PlanError, "this thread is reading"), lock.writing(), lock.writing():
        pass
    with lock.writing():  # nothing is left locked
        pass


def test_readers_are_not_kept_out_by_a_writer_that_comes_again_and_again():
    lock, stop, seen = RWLock(), threading.Event(), []

    def read():
        for _ in range(20):
            with lock.reading():
                seen.append(1)
        stop.set()

    thread = threading.Thread(target=read)
    thread.start()
    writes = 0
    while not stop.is_set():
        with lock.writing():
            until(lambda: lock.queue or stop.is_set())
        writes += 1
    thread.join()
    assert len(seen) == 20
    assert writes <= 22  # each reader waits for one of them


def test_a_reader_that_gives_up_leaves_no_place_behind(monkeypatch):
    lock = RWLock()
    with lock.writing():
        monkeypatch.setattr(lock._condition, "wait_for", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        thread = threading.Thread(target=lambda: _interrupted(lock))
        thread.start()
        thread.join()
        monkeypatch.undo()
    with lock.writing():
        pass
    assert not lock.is_reader()
    assert not lock.queue


def _interrupted(lock):
    with pytest.raises(KeyboardInterrupt), lock.reading():
        pass


def waiting(lock, count):
    """Waits until so many threads wait."""
    until(lambda: len(lock.queue) == count)


def inside(done, lock, said):
    """A thread that acquires a lock and says so."""

    def work():
        with lock:
            done.append(said)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_who_came_first_goes_in_first():
    lock, done = RWLock(), []
    with lock.reading():
        threads = [inside(done, lock.exclusive(10.0), "alone")]
        waiting(lock, 1)
        threads.append(inside(done, lock.reading(), "beside"))
        waiting(lock, 2)
        assert not done
    for thread in threads:
        thread.join(10)
    assert done == ["alone", "beside"]


def test_who_holds_a_lock_waits_for_nobody_who_only_waits():
    one, other, done, out = RWLock(), RWLock(), [], threading.Event()

    def read():
        with other.reading():
            assert out.wait(10)

    reader = threading.Thread(target=read)
    reader.start()
    until(lambda: other._readers)
    writer = inside(done, other.exclusive(10.0), "alone")
    waiting(other, 1)
    with one.reading(), other.reading():
        assert not done
    out.set()
    reader.join(10)
    writer.join(10)
    assert done == ["alone"]


def test_waiting_ends_in_time():
    lock = RWLock()
    failed = []

    def work():
        try:
            with lock.exclusive(0.01):
                pass
        except BusyError as error:
            failed.append(error)

    with lock.reading():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join(10)
    assert len(failed) == 1
    assert not lock.queue


def test_a_thread_that_is_inside_may_be_alone_there_when_nobody_else_is():
    lock, done = RWLock(), []
    with lock.reading(), lock.exclusive(10.0):
        reader = inside(done, lock.reading(), "beside")
        waiting(lock, 1)
        assert not done
    reader.join(10)
    assert done == ["beside"]
