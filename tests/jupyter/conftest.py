"""Fixtures of tests that need Jupyter itself: a file of tests shares one page, which loads JupyterLab once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import checked, new_page


@pytest.fixture(scope="module")
def tab(browser: Any) -> Iterator[Any]:
    """The page of a file of tests."""
    with new_page(browser) as page:
        yield page


@pytest.fixture
def page(tab: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    """The page of a file of tests, as large as it was at first."""
    tab.set_viewport_size({"width": 1400, "height": 900})
    tab.set_default_timeout(120_000)
    with checked(tab, request.node):
        yield tab


@pytest.fixture
def fresh_page(browser: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A page of this test alone."""
    with new_page(browser) as page, checked(page, request.node):
        yield page
