"""Copying checkpoints: the values of one, as they lie there, written under other names; nothing is run."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from ...errors import PlanError, one_of
from ...words import few
from ..save.write import beside, claim_saved, put_checkpoint, read_back, refuse_taken, write_checkpoint
from .checkpoints import Checkpoint, Stored

#: So many bytes are held at once, or one value.
_BATCH = 64 << 20


def copy_checkpoint(place: Any, path: Any, names: Mapping[str, str], asked: str, overwrite: bool) -> dict[str, str]:
    """Writes a checkpoint with the values of another, under other names; returns name written -> name it had.

    Args:
        place: the checkpoint that is read.
        path: the prefix to write.
        names: old name -> new one: of a variable, of a scope with all in it, or with one ``*`` on both sides.
        asked: the request, for messages.
        overwrite: replace a checkpoint that is there.

    Raises:
        OpenError: the checkpoint cannot be read.
        PlanError: a name is of nothing there, or two values would have one name; or it cannot be written.
    """
    checkpoint, prefix = Checkpoint(place, asked), os.fspath(path).removesuffix(".index")
    if os.path.abspath(prefix) == os.path.abspath(checkpoint.prefix):
        raise PlanError(asked, f"{prefix!r} is the checkpoint that is read", "Choose another path")
    refuse_taken(prefix, "checkpoint", overwrite, asked)
    known = sorted(checkpoint.labels.values())
    written = renamed(known, names, asked)
    keys = {name: (written[name], "") for name in known}
    stored = {name: checkpoint.stored(name) for name in known}
    total = sum(one.nbytes for one in stored.values())
    with beside(prefix, asked, total) as folder:
        new = os.path.join(folder, "values")
        write_checkpoint(new, _batches(stored), keys, total, asked)
        read_back(new, written.values(), asked)
        put_checkpoint(new, prefix)
    claim_saved(prefix, "checkpoint")
    return {new_name: name for name, new_name in written.items()}


def renamed(known: list[str], names: Mapping[str, str], asked: str) -> dict[str, str]:
    """Returns name -> its new one, for all that are known; one that no rule is for keeps its own.

    Raises:
        PlanError: a rule is for none of them, or two would have one name.

    Example:
        >>> renamed(["a/w", "a/w/Adam", "b"], {"a/w": "c/v", "b": "a/b"}, "")
        {'a/w': 'c/v', 'a/w/Adam': 'c/v/Adam', 'b': 'a/b'}
        >>> renamed(["a/w/ema", "a/w"], {"*/ema": "*", "a/w": "raw"}, "")
        {'a/w/ema': 'a/w', 'a/w': 'raw'}
    """
    unused = dict.fromkeys(names)
    out: dict[str, str] = {}
    for name in known:
        fitting = [old for old in names if _meant(name, old)]
        # The name itself says most; then a pattern, for slots lie under their variable as in a scope; then the scopes.
        rule = max(fitting, key=lambda old: (old == name, "*" in old, len(old)), default=None)
        out[name] = name if rule is None else _new_name(name, rule, names[rule])
        for old in fitting:
            unused.pop(old, None)
    for old in unused:
        raise PlanError(asked, f"the checkpoint has nothing called {old!r}", one_of(old, known))
    counts = Counter(out.values())
    twice = [name for name in known if counts[out[name]] > 1]
    if twice:
        clash = [name for name in twice if out[name] == out[twice[0]]]
        wrong = f"{few(map(repr, clash))} would both be called {out[twice[0]]!r}"
        raise PlanError(asked, wrong, "Give them different names")
    return out


def _meant(name: str, rule: str) -> bool:
    """Whether a rule is for a name: it is the name, a scope that it is in, or a pattern that it fits."""
    head, star, tail = rule.partition("*")
    if star:
        return name.startswith(head) and name.endswith(tail) and len(name) >= len(head) + len(tail)
    return name == rule or name.startswith(f"{rule.rstrip('/')}/")


def _new_name(name: str, rule: str, new: str) -> str:
    head, star, tail = rule.partition("*")
    if star:
        return new.replace("*", name[len(head) : len(name) - len(tail)], 1)
    return new if name == rule else f"{new.rstrip('/')}/{name[len(rule.rstrip('/')) + 1 :]}".lstrip("/")


def _batches(stored: Mapping[str, Stored]) -> Iterator[dict[str, Any]]:
    """Yields values, so many at a time as are to be held at once."""
    batch: dict[str, Any] = {}
    held = 0
    for name, one in stored.items():
        if batch and held + one.nbytes > _BATCH:
            yield batch
            batch, held = {}, 0
        batch[name] = one.read()
        held += one.nbytes
    if batch:
        yield batch


def stored_names(place: Any, asked: str) -> frozenset[str]:
    """Returns the names of the values that a checkpoint holds.

    Raises:
        OpenError: the checkpoint cannot be read.
    """
    return frozenset(Checkpoint(place, asked).names)
