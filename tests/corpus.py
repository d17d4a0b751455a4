"""The corpus: real graphs that nobody here wrote. It lies beside the checkout, never in it."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.needs import corpus_folder, need

Item = dict[str, Any]
#: What the quick tier takes of one graph at most.
MOST_OPS = 8_000
#: Graphs whose runs take minutes and gigabytes.
HEAVY = {"sci_att_rnn_untrained"}


class Corpus:
    """Access to the items of one corpus folder; reads files only, TensorFlow is imported by `load` alone."""

    def __init__(self, root: str) -> None:
        self.root = Path(root)
        items: list[Item] = json.loads((self.root / "manifest.json").read_text())["items"]
        self.items = {item["id"]: item for item in items}

    def ids(self, where: Callable[[Item], bool] = lambda item: True) -> list[str]:
        """Returns the ids of the items for which `where(item)` is true, smallest graph first."""
        chosen = [item for item in self.items.values() if where(item)]
        return [item["id"] for item in sorted(chosen, key=lambda item: (item["n_ops"] or 0, item["id"]))]

    def item(self, id: str) -> Item:
        """Returns the manifest record; its fields are described in the corpus's README."""
        return self.items[id]

    def path(self, id: str) -> Path:
        """Returns the file or folder to open."""
        return self.root / "items" / id / str(self.items[id]["run"]["path"])

    def checkpoint(self, id: str) -> Path | None:
        """Returns the checkpoint prefix, or None."""
        prefix = self.items[id]["run"].get("checkpoint")
        return self.root / "items" / id / prefix if prefix else None

    def golden(self, id: str, training: bool = False) -> tuple[dict[str, Any], dict[str, Any]]:
        """Returns what to feed and what must come out, by tensor name."""
        name = "golden_train.npz" if training else "golden.npz"
        with np.load(self.root / "items" / id / name, allow_pickle=False) as arrays:
            values = {key: arrays[key] for key in arrays.files}
        return tuple(  # type: ignore[return-value]
            {key.removeprefix(kind): value for key, value in values.items() if key.startswith(kind)}
            for kind in ("feed::", "fetch::")
        )

    def load(self, id: str) -> tuple[Any, Any, Any]:
        """Returns (graph, session, saver) loaded by plain TensorFlow, the variables set as documented."""
        return self._reader.load(id)  # type: ignore[no-any-return]

    def protos(self, id: str) -> tuple[Any, Any]:
        """Returns the GraphDef and the MetaGraphDef around it, or None for the latter; nothing is imported."""
        return self._reader.protos(id)  # type: ignore[no-any-return]

    def compare(self, id: str, got: dict[str, Any]) -> None:
        """Asserts that `got` (tensor name -> array) is what the golden says, within the item's tolerance."""
        equal, difference = self._reader.compare(id, got)
        assert equal, f"{id}: {difference}"

    def fill_value(self, name: str, shape: tuple[int, ...], dtype: Any) -> Any:
        """Returns the documented value of a variable that has no checkpoint."""
        return self._module.fill_value(name, shape, dtype)

    @cached_property
    def _module(self) -> ModuleType:
        spec = importlib.util.spec_from_file_location("corpus_reader", self.root / "corpus.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    @property
    def _reader(self) -> Any:
        return self._module.Corpus(str(self.root))


def open_corpus() -> Corpus:
    """Returns the corpus; without one the test fails in CI, and elsewhere it is not there."""
    return Corpus(need("corpus"))


def corpus_ids(where: Callable[[Item], bool] = lambda item: True) -> list[str]:
    """Returns ids of real graphs, smallest first; without a corpus a stand-in, with which the test fails in CI."""
    root = corpus_folder()
    return Corpus(root).ids(where) if root else ["no-corpus"]


def corpus_cases(where: Callable[[Item], bool] = lambda item: True, quick: int = 16) -> list[Any]:
    """Returns ids to parametrize with: in the quick tier those that differ most, in the deep tier all.

    Args:
        where: which graphs fit the test.
        quick: how many of them the quick tier takes at most.

    Example:
        >>> @pytest.mark.parametrize("id", corpus_cases(lambda item: item["n_ops"] < 500))  # doctest: +SKIP
        ... def test_opens(corpus, id): ...
    """
    ids = corpus_ids(where)
    first = one_of_a_kind(ids, quick)
    return [pytest.param(id, marks=() if id in first else pytest.mark.deep) for id in ids]


def one_of_a_kind(ids: list[str], most: int) -> list[str]:
    """Returns at most `most` ids of graphs that differ most: by kind, encoding, checkpoint and op types.

    Graphs of over `MOST_OPS` ops and those in `HEAVY` are left out, unless there are no others.
    """
    root = corpus_folder()
    if root is None:
        return ids
    items = Corpus(root).items
    rest = [id for id in ids if (items[id]["n_ops"] or 0) <= MOST_OPS and id not in HEAVY] or ids
    chosen: list[str] = []
    seen: set[Any] = set()

    def traits(id: str) -> set[Any]:
        item = items[id]
        form = (item["kind"], item["encoding"], bool(item["run"].get("checkpoint")), bool(item["n_variables"]))
        return {form, *item["op_types"]}

    while rest and len(chosen) < most:
        best = max(rest, key=lambda id: (len(traits(id) - seen), -(items[id]["n_ops"] or 0)))
        chosen.append(best)
        seen |= traits(best)
        rest.remove(best)
    return sorted(chosen)
