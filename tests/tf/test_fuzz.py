"""Spoilt files: people do with them all that they do with files, or are refused; none ends the process, hangs or raises
a stranger. `make fuzz` does the same for as long as there is time.
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.needs import need
from tests.tf.bases import FINDS, finds
from tests.tf.fuzzing import results

COUNT = 150


@pytest.mark.deep
@pytest.mark.parametrize("group", ["own", pytest.param("real", marks=pytest.mark.corpus), "zoo", "saved", "generated"])
def test_no_spoilt_file_does_harm(group):
    if group == "real":
        need("corpus")
    counts: Counter[str] = Counter()
    harm = []
    for result in results(group, 0, COUNT):
        counts[result.outcome] += 1
        if not result.allowed:
            harm.append(
                f"python -m tests.tf.fuzzing {group} {result.number}: after {result.seconds:.1f} s {result.outcome}; "
                f"what was done: {result.story}"
            )
    assert not harm, "\n".join(harm)
    assert sum(counts.values()) == COUNT
    assert all(counts[outcome] >= COUNT // 10 for outcome in ("opened", "refused")), counts


def test_no_file_that_once_did_harm_does_so_again():
    kept = finds()
    assert {one.name for one in kept} == {path.name for path in FINDS.iterdir()} - {"finds.json"}
    again = list(results("finds", 0, len(kept)))
    assert not [(kept[one.number].name, one.outcome) for one in again if not one.allowed]
    assert [one.number for one in again] == list(range(len(kept)))
    for one in again:  # it was where it once did harm, or is refused before
        come_to = {stage for stage, _ in one.stages}
        assert one.outcome == "refused" or set(kept[one.number].stages) <= come_to, kept[one.number].name
