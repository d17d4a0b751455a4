"""Errors: extracts the text of TensorFlow's errors without stacks, and suggests solutions of known errors."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...errors import SurgeryError
from ...graph.arrays import size_text
from ..protos import naming_memory

#: Lines that are not part of the message: headings of stacks, lines of stacks, and the ops that passed an error on.
_AROUND = re.compile(
    r"""Graph\ execution\ error:?$ | Detected\ at\ node\ | Node:\ ' | File\ " | \[\[.*\]\]$ | Traceback\ \(most\ recent
    | Original\ stack\ trace\ for | Errors\ may\ have\ originated | Input\ Source\ operations | Stack\ trace\ for\ op
    | \d+\ root\ error\(s\)\ found | \d+\ successful\ operations | \d+\ derived\ errors\ ignored""",
    re.VERBOSE,
)
#: Bytes per element of dtypes whose names in TensorFlow's messages do not contain their size.
_SIZES = {"float": 4, "double": 8, "half": 2, "bool": 1, "complex64": 8, "complex128": 16, "string": 24}
_OP_NAME = re.compile(r"\{\{node ([^}\s]+)\}\}|Node: '([^']+)'|for operation '?([^\s':]+)")
_NUMBER = re.compile(r"\(\d+\) (?:[A-Z_]+: )?")


def error_text(error: BaseException) -> str:
    r"""Returns the text of an error on one line: each sentence once, without TensorFlow's stacks.

    Example:
        >>> error_text(ValueError("Graph execution error:\n\nNode: 'y'\nit is not there\n\t [[{{node y}}]]"))
        'it is not there'
    """
    lines: list[str] = []
    in_stack = False
    for line in str(getattr(error, "message", error)).strip().splitlines():
        text = line.strip()
        if text.startswith("Original stack trace for"):
            break  # the remaining lines are the code that made the op
        if text.endswith("(most recent call last):"):
            in_stack = True
        elif text and not line[0].isspace() and not text.startswith("File "):
            in_stack = False
        if text and not in_stack and not _AROUND.match(text):
            text = _NUMBER.sub("", text, count=1) if _NUMBER.match(text) else text
            lines.append(text.partition("[[")[0].rstrip() if text.endswith("]]") else text)
    return " ".join(dict.fromkeys(text for text in lines if text)) or type(error).__name__


def out_of_memory(error: BaseException) -> str:
    """Returns a message for an out-of-memory error of TensorFlow.

    Example:
        >>> out_of_memory(MemoryError("OOM when allocating tensor with shape[64,1000] and type float on /cpu:0"))
        'there is no memory for 256 kB more: a tensor of float (64, 1000). Feed less data, or set trace(memory=...)'
    """
    message = error_text(error)
    match = re.search(r"shape\[([\d,]*)\] and type (\w+)", message)
    if not match:
        return f"there is not enough memory: {message}. Feed less data, or set trace(memory=...)"
    shape, kind = [int(size) for size in match[1].split(",") if size], match[2]
    size = math.prod(shape) * _SIZES.get(kind, int((re.search(r"\d+$", kind) or ["32"])[0]) // 8)
    tensor = f"a tensor of {kind} ({', '.join(map(str, shape))})"
    return f"there is no memory for {size_text(size)} more: {tensor}. Feed less data, or set trace(memory=...)"


@contextmanager
def errors_as(
    kind: type[SurgeryError], request: str, problem: str, suggestion: str, *error_types: type[BaseException]
) -> Iterator[None]:
    """Raises errors of TensorFlow as errors of a request, with TensorFlow's text at the end of the problem.

    Args:
        kind: the error that is raised.
        request, problem, suggestion: the three parts of the error; TensorFlow's text is added to the problem.
        error_types: the errors that TensorFlow may raise; any `Exception` by default.

    Raises:
        MemoryError: memory has run out.

    Example:
        >>> try:
        ...     with errors_as(SurgeryError, "save('x')", "it was not written", "Choose another path", OSError):
        ...         raise OSError("the disk is full")
        ... except SurgeryError as error:
        ...     error.problem
        'it was not written: the disk is full'
    """
    kinds = error_types or (Exception,)
    try:
        with naming_memory(request):
            yield
    except MemoryError:
        raise
    except kinds as error:
        raise kind(request, f"{problem}: {error_text(error)}", suggestion) from error


def unfed_placeholder(error: BaseException) -> str:
    """Returns the placeholder that was not fed, if this is the cause of an error; empty for other errors.

    Example:
        >>> unfed_placeholder(ValueError("You must feed a value for placeholder tensor 'x' with dtype float"))
        'x:0'
    """
    match = re.search(r"You must feed a value for placeholder tensor '([^']+)'", error_text(error))
    return f"{match[1]}:0" if match else ""


def suggested_fix(error: BaseException) -> tuple[str, str] | None:
    """Returns the problem and a suggestion for a known error; None for other errors.

    Args:
        error: an error that TensorFlow raised during a run.
    """
    message = error_text(error)
    kernel = re.search(r"No (?:OpKernel was registered to support Op|registered) '([^']+)'", message)
    if kernel:
        return (
            f"this TensorFlow has no kernel for the op type {kernel[1]!r}: {message}",
            f"Run it on a device that has one, or leave out these ops: ed.select(op={kernel[1]!r}) lists them",
        )
    tensor = unfed_placeholder(error)
    if tensor:
        return (
            f"the run needs a value for the placeholder {tensor.removesuffix(':0')!r}",
            f"Run it in your own session with a value for {tensor!r}, and give that session",
        )
    before, separator, _ = message.partition("; No such file or directory")
    path = re.split(r"[\s;:(]", before.removesuffix(" "))[-1]  # a search would be slow if names are very long
    if separator and path:
        return f"the file {path!r} is not there", "Put the file there, or make the op read another file"
    return None


def failed_ops(error: Any) -> list[str]:
    """Returns the ops that an error names, first the op that raised it; only the text contains the other ops."""
    names = [error.node_def.name] if error.node_def is not None else []
    return [*names, *(next(filter(None, groups)) for groups in _OP_NAME.findall(str(error)))]
