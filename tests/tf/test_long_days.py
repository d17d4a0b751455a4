"""What is done again and again leaves nothing: `python -m benchmarks.long_days` does it as often as in months."""

from __future__ import annotations

import pytest

from benchmarks.long_days import DAYS, apart, day

#: A day -> so many steps here, and so many objects of Python that each may leave: a history grows.
STEPS = {"editors and widgets": (20, 1), "applies and undos": (40, 10), "plans": (20, 1), "updates": (200, 1)}


@pytest.mark.parametrize("name", DAYS)
def test_a_day_leaves_nothing(name):
    count, most = STEPS[name]
    with apart():
        found = day(DAYS[name](200), count)
    assert found.left == {}
    assert found.last.objects - found.first.objects < most * count
