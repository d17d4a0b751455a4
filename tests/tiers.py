"""The two tiers of the suite.

`make test` runs the quick tier: everything that a change can break. `make test-all` also runs the deep tier: tests
marked `deep`, and the tests marked `scaled`, properties among them, once more with more cases.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

NAMES = ("quick", "deep", "all")
_chosen = "quick"

# The check `too_slow` depends on the clock: on a busy machine it would fail.
_FIXED = settings(deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow])
_RANDOM = settings(_FIXED, derandomize=False, print_blob=True)

# Hypothesis also draws constants from the modules of the package that are loaded: a test would get other examples
# after other tests. There is no setting for it.
_draws: Any = sys.modules.get("hypothesis.internal.conjecture.providers")
if hasattr(_draws, "_get_local_constants"):
    _draws._get_local_constants = cache(_draws.Constants)


def choose(name: str) -> None:
    """Sets the tier; called before any test module is imported."""
    global _chosen
    _chosen = name
    settings.register_profile(name, examples(100))
    settings.load_profile(name)


def deep() -> bool:
    """Whether the deep tier runs."""
    return _chosen != "quick"


def examples(number: int) -> settings:
    """Returns the settings of a property test.

    The quick tier always draws the same examples. The deep tier draws random ones, except in CI, where a change must
    not fail by chance.

    Args:
        number: how many examples the deep tier draws; the quick tier draws a fifth of them.
    """
    if not deep():
        return settings(_FIXED, max_examples=max(5, number // 5))
    return settings(_FIXED if os.environ.get("CI") == "true" else _RANDOM, max_examples=number)


def share(items: Sequence[Any], offset: int = 0, step: int = 5) -> Sequence[Any]:
    """Returns all items in the deep tier, and every `step`-th, from `offset` on, in the quick one.

    Args:
        items: the cases.
        offset: where to start; give tests that share a list different numbers, so that together they cover more.
        step: the distance.
    """
    return items if deep() else items[offset % step :: step]


def product(*lists: Iterable[Any], meets: int = 2) -> list[Any]:
    """Returns all combinations to parametrize with: the quick tier has each value, the deep tier each combination.

    Args:
        lists: the values of each parameter.
        meets: with how many values of each other list the quick tier combines a value of the longest.
    """
    values = [list(one) for one in lists]
    longest = max(map(len, values))
    quick = {
        tuple((i + k * bool(n)) % len(one) for n, one in enumerate(values))
        for i in range(longest)
        for k in range(meets)
    }
    return [
        pytest.param(
            *(one[i] for one, i in zip(values, at, strict=True)), marks=() if at in quick else pytest.mark.deep
        )
        for at in itertools.product(*(range(len(one)) for one in values))
    ]


def has(item: pytest.Item) -> bool:
    """Whether a test belongs to the chosen tier."""
    if _chosen == "all":
        return True
    marked = item.get_closest_marker("deep") is not None
    if not deep():
        return not marked
    return marked or item.get_closest_marker("scaled") is not None or _is_property(item)


def _is_property(item: pytest.Item) -> bool:
    return bool(getattr(getattr(item, "obj", None), "is_hypothesis_test", False))
