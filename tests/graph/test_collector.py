"""The garbage collector: paused, and back again."""

import gc

import pytest

from graphsurgeon.graph.concurrency import gc_paused


def test_the_garbage_collector_comes_back():
    with gc_paused():
        assert not gc.isenabled()
        with gc_paused():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_comes_back_after_an_error_and_stays_off_where_it_was():
    with pytest.raises(ValueError, match="late"), gc_paused():
        raise ValueError("late")
    assert gc.isenabled()
    gc.disable()
    try:
        with gc_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
