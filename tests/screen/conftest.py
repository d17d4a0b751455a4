"""Checks the data of each screen: its traits and results must have the types that the page declares."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from graphsurgeon.ui.screen import COMMAND_SPECS, Screen
from graphsurgeon.view import page_types
from tests.typed import misfits


@pytest.fixture(autouse=True)
def typed_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes each screen compare its traits and results with their types."""
    traits, do = Screen.traits, Screen._do

    @functools.wraps(traits)
    def checked_traits(self: Screen) -> page_types.State:
        state = traits(self)
        assert list(misfits(state, page_types.State)) == []
        return state

    @functools.wraps(do)
    def checked_do(self: Screen, act: Any, arguments: dict[str, Any]) -> Any:
        result = do(self, act, arguments)
        declared = COMMAND_SPECS[act.__name__].result_type
        if declared is not None:
            assert list(misfits(result, declared)) == []
        return result

    monkeypatch.setattr(Screen, "traits", checked_traits)
    monkeypatch.setattr(Screen, "_do", checked_do)
