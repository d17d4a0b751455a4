"""Fixtures of the widget's tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.needs import need
from tests.widget.page import WidgetPage
from tests.widget.subject import plain_screen


@pytest.fixture
def widget_page(page: Any) -> Callable[..., WidgetPage]:
    """Returns a function that shows a screen on a plain page."""

    def show(screen: Any = None, **options: Any) -> WidgetPage:
        return WidgetPage(page, screen or plain_screen(), **options)

    return show


@pytest.fixture
def axe() -> None:
    """Needs axe-core, which comes with the front end's packages."""
    need("front end")
