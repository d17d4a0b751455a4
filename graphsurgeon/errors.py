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
        argument: the name of the wrong argument, so that a form can select its field; empty if there is none, or more
            than one.
        kind: the subject of the error.
        names: the ops and tensors of the error; those that `suggestion` proposes are in quotes there.

    An error can also be made of its whole text alone, because pickle and Keras copy errors in this way.

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

    def suggestion_with_names(self, renamed: Callable[[str], str]) -> str:
        """Returns the suggestion with other names for the ops and tensors that it proposes.

        Args:
            renamed: returns the name to propose for a name.
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
    """A selection or boundary names an op or tensor that does not exist, or is not connected."""


class PlanError(SurgeryError):
    """A plan cannot be carried out; the destination is unchanged."""


class StalePlanError(PlanError):
    """The graph has changed since the plan was made."""


class TrustError(PlanError):
    """A graph from a file would run ops that reach outside of the graph, and is not trusted."""


class LayoutError(SurgeryError):
    """A picture could not be laid out."""


@contextmanager
def about(argument: str) -> Iterator[None]:
    """Sets the argument of an error that is raised inside, unless the error already has one.

    Args:
        argument: the name of the argument.

    Raises:
        SurgeryError: the error that is raised inside, with the argument.

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
    """Returns whether an error is Python's `MemoryError`."""
    return isinstance(error, MemoryError)


@contextmanager
def naming_memory(request: str, lacks: Callable[[BaseException], bool] = is_memory_error) -> Iterator[None]:
    """Adds the request to a MemoryError; other errors do not change.

    Args:
        request: the request, for the message; an error that already has a request keeps it.
        lacks: returns whether an error means that memory has run out.

    Raises:
        MemoryError: if memory has run out.

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


#: The suggestion if no name in a graph is similar.
NOTHING_NEAR = "No name is similar; ed.find('part of the name') lists the names that contain it"


def nearest(word: str, choices: Iterable[str]) -> list[str]:
    """Returns the choices that look most like `word`, best first.

    A long list is first reduced to names in the same scope and names with a similar last part, because the comparison
    is slow. So a typo in a graph of 100,000 names is answered at once.

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
    """Returns a sentence that proposes the nearest names; `otherwise` if no name is near."""
    return _proposal_text(nearest(word, choices), otherwise)


def _proposal_text(names: Iterable[str], otherwise: str) -> str:
    text = " or ".join(map(repr, names))
    return f"Did you mean {text}?" if text else otherwise


def unknown_name(request: str, problem: str, similar: Sequence[str]) -> SelectionError:
    """Returns the error for a name that does not exist, with the similar names."""
    return SelectionError(
        request, problem, _proposal_text(similar, NOTHING_NEAR), kind=Kind.UNKNOWN_NAME, names=similar
    )


def warn(text: str) -> None:
    """Issues a warning at the line of user code that led to it, outside of this package."""
    inside, frame, level = (__name__.partition(".")[0], "contextlib"), sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in inside:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, stacklevel=level)


def counted(n: int, objects: str) -> str:
    """Returns a count with its noun, which is given in the plural.

    Example:
        >>> counted(1, "ops"), counted(1, "edges of gradients"), counted(1, "matches"), counted(2000, "summaries")
        ('1 op', '1 edge of gradients', '1 match', '2,000 summaries')
    """
    head, of, whose = objects.partition(" of ")
    if n == 1:
        es = head.endswith(("ches", "shes", "sses", "xes"))
        head = f"{head[:-3]}y" if head.endswith("ies") else head[: -2 if es else -1]
    return f"{n:,} {head}{of}{whose}"


def few(names: Iterable[str], limit: int = 3) -> str:
    """Returns the first names, and how many more there are.

    Example:
        >>> few("abcdef"), few(map(repr, "ab")), few("abc", 1)
        ('a, b, c and 3 more', "'a', 'b'", 'a and 2 more')
    """
    items = list(names)
    return ", ".join(items[:limit]) + (f" and {len(items) - limit:,} more" if len(items) > limit else "")


def one_or_all(names: Sequence[str]) -> Any:
    """Returns a single name as text, or several names as a list, as a user would type them.

    Example:
        >>> one_or_all(("a",)), one_or_all(("a", "b"))
        ('a', ['a', 'b'])
    """
    return names[0] if len(names) == 1 else list(names)


def exit_text(code: int) -> str:
    """Returns how a failed process ended. Its exit code is an error code, or minus the number of a signal.

    Example:
        >>> exit_text(-11), exit_text(3)
        ('died (SIGSEGV)', 'died (code 3)')
    """
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"code {code}"
    return f"died ({name})"
