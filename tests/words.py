"""Names of parametrised tests: words, and the same in every process, whatever the parameters are."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Any

from tests.needs import ROOT

LONGEST = 60
#: What the name of a test may hold between its brackets.
WORDS = re.compile(r"[\w .,:;/+*=^@#%&!?~()-]*", re.ASCII)


def words(value: Any, argument: str) -> str:
    """Returns what stands for a parameter in the name of its test; pytest numbers those that are equal.

    Text, numbers and names stand for themselves, and so do the items of a plain collection. Anything else, bytes and
    lambdas among it, is called as the argument is: what an object prints may be another text in each process.

    Args:
        value: the parameter.
        argument: the name of the test's argument.
    """
    text = " ".join(" ".join(WORDS.findall(_text(value))).split())
    if len(text) > LONGEST:
        text = text[: LONGEST + 1].rpartition(" ")[0] or text[:LONGEST]
    return text or argument


def _text(value: Any) -> str:
    """Returns a text that is the same in every process, or none."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool | int | float | complex):
        return str(value)
    if isinstance(value, PurePath):
        return (value.relative_to(ROOT) if value.is_relative_to(ROOT) else value).as_posix()
    if type(value) is dict:
        return ", ".join(f"{_text(key)}={_text(item)}" for key, item in value.items())
    if type(value) in (list, tuple):
        return ", ".join(map(_text, value))
    if type(value) in (set, frozenset):
        return ", ".join(sorted(map(_text, value)))
    for name in ("name", "__name__"):  # dtypes, members of an Enum; classes, functions, modules
        if isinstance(said := getattr(value, name, None), str) and said != "<lambda>":
            return said
    return ""
