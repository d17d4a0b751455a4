"""Reports: the values that were restored, transferred or saved, and those that were not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ..errors import counted, few
from .arrays import size_text


@dataclass(frozen=True)
class Restored:
    """The result of `Editor.restore`.

    Args:
        checkpoint: the prefix of the checkpoint.
        restored: variable -> name of its value in the checkpoint.
        missing: variables that the checkpoint lacks; they keep their values.
        unused: names in the checkpoint that no variable uses.
        excluded: variables that were excluded.

    Example:
        >>> print(Restored("ckpt/model-7", {"enc/w": "w"}, ("enc/b",), ("step",)))
        1 of 2 variables restored from 'ckpt/model-7'
          not in the checkpoint: enc/b
          not used: step
    """

    checkpoint: str
    restored: Mapping[str, str]
    missing: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return not self.missing

    def __repr__(self) -> str:
        total = len(self.restored) + len(self.missing)
        lines = [f"{len(self.restored)} of {counted(total, 'variables')} restored from {self.checkpoint!r}"]
        for word, names in (("not in the checkpoint", self.missing), ("not used", self.unused),
                            ("left as they were", self.excluded)):  # fmt: skip
            lines += [f"  {word}: {few(names)}"] if names else []
        return "\n".join(lines)


@dataclass(frozen=True)
class Transferred:
    """The result of `transfer`; `again()` repeats it with the current values.

    Args:
        pairs: (source variable, target variable), in order.
        bytes: the size of all values.
        unused: source variables without a target.
        missing: target variables without a source.
    """

    pairs: tuple[tuple[str, str], ...]
    bytes: int
    unused: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    repeat: Callable[[], None] = field(default=lambda: None, repr=False, compare=False)

    def again(self) -> Transferred:
        """Copies the current values between the same pairs."""
        self.repeat()
        return self

    def __len__(self) -> int:
        return len(self.pairs)

    def __repr__(self) -> str:
        lines = [f"{counted(len(self.pairs), 'variables')} transferred ({size_text(self.bytes)})"]
        lines += [f"  {a} -> {b}" for a, b in self.pairs[:8]]
        lines += [f"  and {len(self.pairs) - 8} more"] if len(self.pairs) > 8 else []
        lines += [f"  target variables without a source: {few(self.missing)}"] if self.missing else []
        lines += [f"  source variables not used: {few(self.unused)}"] if self.unused else []
        return "\n".join(lines)


@dataclass(frozen=True)
class Saved:
    """The result of `Editor.save`.

    Args:
        path: the path for `gs.open` or TensorFlow.
        format: one of the formats of `Editor.save`.
        ops: number of ops in the file.
        variables: names of the variables whose values are in the file.
        omitted_ops: number of ops of the graph that are not in the file.
        notes: notes on the use of the file, and on the parts that could not be run.
        untrained: variables that have only their initial value in the file -> the reason.
        proof: the runs that checked the file; empty if the check was skipped.
    """

    path: str
    format: str
    ops: int
    variables: tuple[str, ...] = ()
    omitted_ops: int = 0
    notes: Sequence[str] = ()
    proof: str = ""
    untrained: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        variables = counted(len(self.variables), "variables")
        ops = f"{counted(self.ops, 'ops')}, " if self.ops else ""
        lines = [f"{self.path!r}: {self.format.replace('_', ' ')}, {ops}{variables}"]
        lines += [f"  {counted(self.omitted_ops, 'ops')} left out"] if self.omitted_ops else []
        lines += [f"  {note}" for note in (self.proof, *only_initial_text(self.untrained), *self.notes) if note]
        return "\n".join(lines)


def only_initial_text(only_initial: Mapping[str, str]) -> list[str]:
    """Returns a sentence for each reason why variables have only initial values.

    Example:
        >>> only_initial_text({"w": "not in the checkpoint", "b": "not in the checkpoint"})
        ['2 variables have initial values, not in the checkpoint: w, b']
    """
    reasons: dict[str, list[str]] = {}
    for name, why in only_initial.items():
        reasons.setdefault(why, []).append(name)
    return [f"{counted(len(n), 'variables')} {'has an initial value' if len(n) == 1 else 'have initial values'}, "
            f"{why}: {few(n)}" for why, n in reasons.items()]  # fmt: skip
