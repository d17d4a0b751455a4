"""Spoilt files: thousands are opened and copied, or refused; none ends the process, hangs or raises a stranger."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.needs import need
from tests.tf.fuzzing import ALLOWED, results

COUNTS = {"own": 1_500, "real": 1_500, "zoo": 1_500}


@pytest.mark.parametrize("group", ["own", pytest.param("real", marks=pytest.mark.corpus), "zoo"])
def test_no_spoilt_file_does_harm(group):
    if group == "real":
        need("corpus")
    counts: Counter[str] = Counter()
    harm = []
    for result in results(group, 0, COUNTS[group]):
        counts[result.outcome] += 1
        if not result.allowed:
            harm.append(
                f"python -m tests.tf.fuzzing {group} {result.number}: after {result.seconds:.1f} s {result.outcome}; "
                f"what was done: {result.story}"
            )
    assert not harm, "\n".join(harm)
    assert sum(counts.values()) == COUNTS[group]
    assert all(counts[outcome] >= COUNTS[group] // 50 for outcome in ("copied", "OpenError")), counts
    assert set(counts) <= set(ALLOWED)
