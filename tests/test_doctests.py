"""The examples in docstrings run and print what they say."""

from __future__ import annotations

import doctest
import importlib
import os
from pathlib import Path

import pytest

from tests.needs import ROOT

PACKAGE = ROOT / "graphsurgeon"
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def modules() -> list[str]:
    """Returns the dotted names of the package's modules."""
    paths = sorted(p for p in PACKAGE.rglob("*.py") if "node_modules" not in p.parts)
    names = [".".join(p.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for p in paths]
    return [name for name in names if ">>>" in _source(name)]


def _source(name: str) -> str:
    path = ROOT / Path(*name.split("."))
    return (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text()


@pytest.mark.parametrize("name", modules())
def test_examples(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # what an example writes stays out of the checkout
    module = importlib.import_module(name)
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    for test in doctest.DocTestFinder(exclude_empty=True).find(module, name):
        runner.run(test, out=said.append)
    assert not runner.failures, "".join(said) + f"\n(in {os.path.relpath(module.__file__ or '', ROOT)})"
