"""The errors that graphsurgeon raises (request, problem, suggestion), and helpers for the text of messages."""

from __future__ import annotations

import difflib
import re
import signal
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from typing import Any


class Kind(Enum):
    """The subject of an error, a fault or a warning. Code branches on the kind, never on a message."""

    OTHER = "other"
    #: A name does not exist; `names` are the similar names.
    UNKNOWN_NAME = "unknown name"
    #: The boundary does not connect; `names` are its inputs that lead to no output.
    UNCONNECTED = "unconnected boundary"
    #: An op needs a variable, and the plan would give it a tensor.
    NEEDS_VARIABLE = "op needs a variable"
    #: A variable has no value in a session.
    NO_VALUE = "variable without a value"
    CLOSED_SESSION = "closed session"
    #: TensorFlow refuses an op; `names` has the op.
    REFUSED_OP = "refused op"
    #: The plan as a whole cannot be applied.
    PLAN = "plan"
    FOREIGN_PLAN = "plan of another graph"
    #: A recipe does not apply, or its verification found a difference.
    RECIPE = "recipe"
    #: A placeholder in a copy that is not a marked input.
    LEAK = "leak"
    DROPPED_CONTROL = "dropped control inputs"
    CUSTOM_GRADIENT = "custom gradient"
    SEED = "seed"


class SurgeryError(Exception):
    r"""Base of every error of this package; always carries the three parts of a useful message.

    Args:
        request: the request, with the names the caller typed in quotes.
        problem: what is wrong with it.
        suggestion: what to type or do instead.
        argument: the name of the argument that is wrong, so that a form can go to its field; empty: none, or several.
        kind: the subject of the error.
        names: the ops and tensors of the error; those that `suggestion` proposes are in quotes there.

    A whole text alone makes an error too: what copies errors, as pickle and Keras do, makes them of their text.

    Example:
        >>> str(SurgeryError("open('a.txt')", "the file is empty", "Give a GraphDef"))
        "open('a.txt'): the file is empty.\nGive a GraphDef."
    """

    def __init__(
        self,
        request: str,
        problem: str = "",
        suggestion: str = "",
        argument: str = "",
        *,
        kind: Kind = Kind.OTHER,
        names: Iterable[str] = (),
    ) -> None:
        self.request, self.problem, self.suggestion, self.argument = request, problem, suggestion, argument
        self.kind, self.names = kind, tuple(names)
        super().__init__(f"{request}: {_sentence(problem)}\n{_sentence(suggestion)}" if problem else request)

    def proposing(self, renamed: Callable[[str], str]) -> str:
        """Returns the suggestion with other names for the ops and tensors that it proposes.

        Args:
            renamed: name -> the name to propose.
        """
        new = {repr(name): repr(renamed(name)) for name in self.names}
        return (
            re.sub("|".join(map(re.escape, new)), lambda old: new[old[0]], self.suggestion) if new else self.suggestion
        )


def _sentence(text: str) -> str:
    text = text.strip()
    return text if text.endswith((".", "?", "!")) else text + "."


class OpenError(SurgeryError):
    """A file or object could not be read as a TensorFlow graph."""


class SelectionError(SurgeryError):
    """A selection or boundary names something the graph does not have, or does not hold together."""


class PlanError(SurgeryError):
    """A plan cannot be carried out; the destination is as it was."""


class StalePlanError(PlanError):
    """The graph has changed since the plan was made."""


class TrustError(PlanError):
    """A graph from a file would run ops that reach out of it, and was not trusted."""


class LayoutError(SurgeryError):
    """A picture could not be laid out."""


@contextmanager
def about(argument: str) -> Iterator[None]:
    """Names the argument that an error is about, unless the error names one itself.

    Args:
        argument: the name of the argument.

    Raises:
        SurgeryError: what is raised inside, with the name.

    Example:
        >>> try:
        ...     with about("path"):
        ...         raise OpenError("open('a.txt')", "the file is empty", "Give a GraphDef")
        ... except OpenError as error:
        ...     error.argument
        'path'
    """
    try:
        yield
    except SurgeryError as error:
        error.argument = error.argument or argument
        raise


def is_memory_error(error: BaseException) -> bool:
    """Returns whether an error is Python's own for memory that has run out."""
    return isinstance(error, MemoryError)


@contextmanager
def naming_memory(request: str, lacks: Callable[[BaseException], bool] = is_memory_error) -> Iterator[None]:
    """Adds the request to a MemoryError; every other error stays what it is.

    Args:
        request: the request, for the message; one that is named inside stays named.
        lacks: whether an error means that memory has run out.

    Raises:
        MemoryError: memory has run out.

    Example:
        >>> with naming_memory("open('a.pb')"):
        ...     raise MemoryError("to read 8 GB")
        Traceback (most recent call last):
        MemoryError: open('a.pb'): there is not enough memory (to read 8 GB). Close unused programs, or use a
        machine with more memory.
    """
    try:
        yield
    except Exception as error:
        if not lacks(error) or hasattr(error, "request"):
            raise
        detail = f" ({error})" if isinstance(error, MemoryError) and str(error) else ""
        how = "Close unused programs, or use a machine with more memory"
        renamed_error = MemoryError(f"{request}: there is not enough memory{detail}. {how}.")
        renamed_error.request = request  # type: ignore[attr-defined]
        raise renamed_error from error


#: What to say of the names of a graph where none is near.
NOTHING_NEAR = "Nothing there has a similar name; ed.find('part of the name') lists what there is"


def nearest(word: str, choices: Iterable[str]) -> list[str]:
    """Returns the choices that look most like `word`, best first.

    Long lists are thinned by a shared last path part before the costly comparison,
    so that a typo in a graph of 100,000 names is answered at once.

    Example:
        >>> nearest("conv2d9", ["conv2d0", "relu", "conv2d1"])
        ['conv2d1', 'conv2d0']
    """
    pool = list(dict.fromkeys(choices))
    if len(pool) > 2000:
        head, _, leaf = word.rpartition("/")
        alike = [c for c in pool if c.rpartition("/")[2][:3].lower() == leaf[:3].lower()]
        same_scope = [c for c in pool if head and c.startswith(head + "/")]
        pool = sorted(dict.fromkeys(same_scope + alike), key=lambda c: abs(len(c) - len(word)))[:2000]
    return difflib.get_close_matches(word, pool)


def one_of(word: str, choices: Iterable[str]) -> str:
    """Returns a sentence that proposes the nearest of a few choices, or names some of them.

    Example:
        >>> one_of("kernal", ["kernel", "bias"]), one_of("x", ["kernel", "bias"])
        ("Did you mean 'kernel'?", "Choose from 'kernel', 'bias'")
        >>> one_of("x", ["kernel"])
        "There is only 'kernel'"
    """
    options = list(dict.fromkeys(choices))
    more = f" and {len(options) - 5} more" if len(options) > 5 else ""
    there = ("There is only " if len(options) == 1 else "Choose from ") + ", ".join(map(repr, options[:5])) + more
    return did_you_mean(word, options, there if options else "There are none")


def did_you_mean(word: str, choices: Iterable[str], otherwise: str = NOTHING_NEAR) -> str:
    """Returns a sentence that proposes the nearest names, or another: of a graph, how to list them all."""
    return _proposed(nearest(word, choices), otherwise)


def _proposed(names: Iterable[str], otherwise: str) -> str:
    text = " or ".join(map(repr, names))
    return f"Did you mean {text}?" if text else otherwise


def unknown_name(request: str, problem: str, similar: Sequence[str]) -> SelectionError:
    """Returns the error that a name does not exist, with the similar names."""
    return SelectionError(request, problem, _proposed(similar, NOTHING_NEAR), kind=Kind.UNKNOWN_NAME, names=similar)


def warn(text: str) -> None:
    """Warns at the line outside this package that led here, which a person can change."""
    inside, frame, level = (__name__.partition(".")[0], "contextlib"), sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in inside:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, stacklevel=level)


def counted(n: int, things: str) -> str:
    """Returns a count with its noun, which is given in the plural.

    Example:
        >>> counted(1, "ops"), counted(1, "edges of gradients"), counted(1, "matches"), counted(2000, "summaries")
        ('1 op', '1 edge of gradients', '1 match', '2,000 summaries')
    """
    head, of, whose = things.partition(" of ")
    if n == 1:
        es = head.endswith(("ches", "shes", "sses", "xes"))
        head = f"{head[:-3]}y" if head.endswith("ies") else head[: -2 if es else -1]
    return f"{n:,} {head}{of}{whose}"


def few(names: Iterable[str], most: int = 3) -> str:
    """Returns the first names, and how many more there are.

    Example:
        >>> few("abcdef"), few(map(repr, "ab")), few("abc", 1)
        ('a, b, c and 3 more', "'a', 'b'", 'a and 2 more')
    """
    items = list(names)
    return ", ".join(items[:most]) + (f" and {len(items) - most:,} more" if len(items) > most else "")


def one_or_all(names: Sequence[str]) -> Any:
    """Returns the only name, or all as a list: as a person would type them.

    Example:
        >>> one_or_all(("a",)), one_or_all(("a", "b"))
        ('a', ['a', 'b'])
    """
    return names[0] if len(names) == 1 else list(names)


def ended(code: int) -> str:
    """Returns how a process ended that did not end well, from its exit code: minus the number of a signal, or more.

    Example:
        >>> ended(-11), ended(3)
        ('died (SIGSEGV)', 'died (code 3)')
    """
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"code {code}"
    return f"died ({name})"
