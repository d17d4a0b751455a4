"""What is done again and again leaves nothing: `python -m tests.stress.long_days` does it as often as in months."""

from __future__ import annotations

import pytest

from tests.stress.long_days import DAYS, apart, day

#: A day -> so many steps here, so many objects of Python that each may leave, for a history grows, and so many bytes of
#: the allocator: a small graph fills caches of 200 kB before it leaves nothing, and a history's record has 8 kB.
STEPS = {
    "editors and widgets": (20, 1, 40_000),
    "applies and undos": (40, 10, 3_000),
    "plans": (20, 1, 3_000),
    "updates": (200, 1, 1_000),
}


# ipywidgets 8.1.0 warns with each widget, and pytest keeps all warnings of a test: those are not what a day leaves
@pytest.mark.filterwarnings("ignore:Deprecated in traitlets 4.1:DeprecationWarning")
@pytest.mark.parametrize("name", DAYS)
def test_a_day_leaves_nothing(name):
    count, objects, used = STEPS[name]
    with apart():
        found = day(DAYS[name](200), count)
    assert found.left == {}
    assert found.last.objects - found.first.objects < objects * count
    assert 1e6 * (found.last.used - found.first.used) < used * count
