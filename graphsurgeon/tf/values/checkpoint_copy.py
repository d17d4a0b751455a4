"""Checkpoint copy: writes the stored values of a checkpoint under other names, without running anything."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from typing import Any

from ...errors import PlanError, one_of
from ...graph.names import starred
from ...words import few
from ..save.write import beside, claim_saved, put_checkpoint, read_back, refuse_taken, write_checkpoint
from .checkpoints import Checkpoint
from .transfer import bounded

#: The most bytes in memory at once; one larger value is allowed.
_BATCH = 64 << 20


def copy_checkpoint(place: Any, path: Any, names: Mapping[str, str], request: str, overwrite: bool) -> dict[str, str]:
    """Writes a checkpoint with the values of another, under other names; returns new name -> old name.

    Args:
        place: the checkpoint to read.
        path: the prefix to write.
        names: old name -> new one: of a variable, of a scope with all its variables, or with one ``*`` on both sides.
        request: the request, for messages.
        overwrite: replace an existing checkpoint.

    Raises:
        OpenError: the checkpoint cannot be read.
        PlanError: an old name does not exist, two values would have one name, or the checkpoint cannot be written.
    """
    checkpoint, prefix = Checkpoint(place, request), os.fspath(path).removesuffix(".index")
    if os.path.abspath(prefix) == os.path.abspath(checkpoint.prefix):
        raise PlanError(request, f"{prefix!r} is the checkpoint that is read", "Choose another path")
    refuse_taken(prefix, "checkpoint", overwrite, request)
    known = sorted(checkpoint.labels.values())
    written = renamed(known, names, request)
    keys = {name: (written[name], "") for name in known}
    stored = {name: checkpoint.stored(name) for name in known}
    sizes = {name: one.nbytes for name, one in stored.items()}
    total = sum(sizes.values())
    values = ({name: stored[name].read() for name in names} for names in bounded(sizes, _BATCH))
    with beside(prefix, request, total) as folder:
        new = os.path.join(folder, "values")
        write_checkpoint(new, values, keys, total, request)
        read_back(new, written.values(), request)
        put_checkpoint(new, prefix)
    claim_saved(prefix, "checkpoint")
    return {new_name: name for name, new_name in written.items()}


def renamed(known: list[str], names: Mapping[str, str], request: str) -> dict[str, str]:
    """Returns name -> new name, for all known names; a name without a rule stays the same.

    Raises:
        PlanError: a rule fits no name, or two values would have one name.

    Example:
        >>> renamed(["a/w", "a/w/Adam", "b"], {"a/w": "c/v", "b": "a/b"}, "")
        {'a/w': 'c/v', 'a/w/Adam': 'c/v/Adam', 'b': 'a/b'}
        >>> renamed(["a/w/ema", "a/w"], {"*/ema": "*", "a/w": "raw"}, "")
        {'a/w/ema': 'a/w', 'a/w': 'raw'}
    """
    rules = {old: _by_rule(old, new, known, request) for old, new in names.items()}
    for old, found in rules.items():
        if not found:
            raise PlanError(request, f"the checkpoint has nothing called {old!r}", one_of(old, known))
    # The exact name has priority, then patterns, then scopes: the slots of a variable are in a scope of its name.
    meant = {old: new for old, new in names.items() if old in rules[old]}
    for old in sorted(rules, key=lambda old: ("*" in old, len(old)), reverse=True):
        meant = rules[old] | meant
    out = {name: meant.get(name, name) for name in known}
    counts = Counter(out.values())
    twice = [name for name in known if counts[out[name]] > 1]
    if twice:
        clash = [name for name in twice if out[name] == out[twice[0]]]
        problem = f"{few(map(repr, clash))} would both be called {out[twice[0]]!r}"
        raise PlanError(request, problem, "Give them different names")
    return out


def _by_rule(old: str, new: str, known: list[str], request: str) -> dict[str, str]:
    """The names that a rule fits (the name itself, all names in a scope, or those of a pattern) -> their new names."""
    if "*" in old or "*" in new:
        return starred(old, new, known, request)
    lead, to = f"{old.rstrip('/')}/", new.rstrip("/")
    inside = {name: f"{to}/{name.removeprefix(lead)}".lstrip("/") for name in known if name.startswith(lead)}
    return inside | ({old: new} if old in known else {})


def stored_names(place: Any, request: str) -> frozenset[str]:
    """Returns the names of the values that a checkpoint holds.

    Raises:
        OpenError: the checkpoint cannot be read.
    """
    return frozenset(Checkpoint(place, request).names)
