"""A test whose need is missing says so as a skip, and fails in CI."""

from __future__ import annotations

import pytest

from tests import needs


@pytest.fixture(autouse=True)
def _no_corpus(monkeypatch, tmp_path):
    monkeypatch.setenv("GRAPHSURGEON_CORPUS", str(tmp_path))


def test_skips_locally(monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="needs corpus: set GRAPHSURGEON_CORPUS"):
        needs.need("corpus")


def test_fails_in_ci(monkeypatch):
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="needs corpus: set GRAPHSURGEON_CORPUS"):
        needs.need("corpus")


def test_what_is_optional_skips_in_ci(monkeypatch):
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.skip.Exception, match="needs corpus"):
        needs.need("corpus", optional=True)


def test_returns_the_place(tmp_path):
    (tmp_path / "manifest.json").touch()
    assert needs.need("corpus") == str(tmp_path)
