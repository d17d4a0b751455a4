"""Messages count and list through one module: no text of the package says "1 ops", "a int" or a list cut off."""

from __future__ import annotations

import ast
import re

import pytest

from graphsurgeon.errors import counted, few, one_or_all
from tests.needs import ROOT
from tests.test_house import modules


@pytest.mark.parametrize(
    ("n", "things", "text"),
    [
        (0, "ops", "0 ops"),
        (1, "ops", "1 op"),
        (2, "ops", "2 ops"),
        (1, "entries", "1 entry"),
        (1, "boxes", "1 box"),
        (1, "slashes", "1 slash"),
        (1, "places", "1 place"),
        (1, "types", "1 type"),
        (1, "control inputs", "1 control input"),
        (1, "ops of loops", "1 op of loops"),
        (2, "ops of a loop", "2 ops of a loop"),
        (12345, "copies", "12,345 copies"),
    ],
)
def test_a_count_has_the_right_form_of_its_noun(n, things, text):
    assert counted(n, things) == text


def test_a_short_list_says_how_many_more_there_are():
    assert few([]) == ""
    assert few(["a", "b", "c"]) == "a, b, c"
    assert few(["a", "b", "c", "d"]) == "a, b, c and 1 more"
    assert few(map(str, range(5000)), 2) == "0, 1 and 4,998 more"
    assert few(iter("ab"), 1) == "a and 1 more"


def test_one_is_itself_and_several_are_a_list():
    assert (one_or_all(("a",)), one_or_all(("a", "b")), one_or_all(())) == ("a", ["a", "b"], [])


def _naive(tree: ast.Module, nouns: set[str]) -> list[str]:
    """Returns where an f-string joins a value and a plural, an article and a value, or a noun and its own "s"."""
    plural, out = re.compile(rf" (?:new |other |open )?({'|'.join(sorted(nouns))})\b"), []
    for node in ast.walk(tree):
        if not isinstance(node, ast.JoinedStr):
            continue
        for before, after in zip(node.values, node.values[1:], strict=False):
            text = ast.unparse(node)[:90]
            if isinstance(before, ast.FormattedValue) and isinstance(after, ast.Constant):
                found = plural.match(after.value)
                sure = ast.unparse(before.value).startswith("len(") or before.format_spec is not None
                fits = before.conversion == -1 and _is_count(before.value)
                if found and fits and (sure or found[1] not in _VERBS):
                    out.append(f"line {node.lineno}: {text}: type counted(n, {found[1]!r})")
            if isinstance(before, ast.Constant) and isinstance(after, ast.FormattedValue):
                if re.search(r"(^|[\s(])[Aa]n? $", before.value):
                    out.append(f"line {node.lineno}: {text}: a word that varies takes no article")
                if re.search(r" \w+$", before.value) and "'s' *" in ast.unparse(after.value):
                    noun = before.value.rpartition(" ")[2]
                    if f"{noun}s" in nouns:
                        out.append(f"line {node.lineno}: {text}: type counted(n, '{noun}s')")
    return out


def _is_count(value: ast.expr) -> bool:
    """Whether an expression may be a number of things that varies."""
    if isinstance(value, ast.Call):
        return ast.unparse(value.func) in {"len", "int", "sum", "round"}
    return isinstance(value, ast.Name | ast.Attribute | ast.BinOp | ast.Subscript) and not ast.unparse(value).isupper()


def _nouns(trees: list[ast.Module]) -> set[str]:
    """Returns all that the package counts."""
    calls = [n for t in trees for n in ast.walk(t) if isinstance(n, ast.Call) and ast.unparse(n.func) == "counted"]
    said = [c.args[1].value for c in calls if len(c.args) == 2 and isinstance(c.args[1], ast.Constant)]
    return {text.partition(" of ")[0].rpartition(" ")[2] for text in said}


#: They are verbs as well: "x names y".
_VERBS = {"names", "calls", "copies", "places", "updates", "matches", "values", "types", "steps", "others"}


def test_no_message_counts_or_lists_by_itself():
    trees = {path: ast.parse(path.read_text()) for path in modules()}
    nouns = _nouns(list(trees.values()))
    assert {"ops", "tensors", "variables", "boxes", "inputs"} <= nouns
    assert all(noun.endswith("s") for noun in nouns)
    said = [f"{path.relative_to(ROOT)}, {text}" for path, tree in trees.items() for text in _naive(tree, nouns)]
    assert not said, "\n".join(said)


@pytest.mark.parametrize(
    "code",
    ["f'{len(x)} ops'", "f'it has {n:,} new ops'", "f'a {kind} is'", "f'{x} op{\"s\" * (n > 1)} more'", "f'An {x}'"],
)
def test_the_check_sees_one(code):
    assert _naive(ast.parse(code), {"ops"})


@pytest.mark.parametrize("code", ["f'{counted(n, \"ops\")}'", "f'{name!r} ops'", "f'{MOST} ops'", "f'to a/{x}'"])
def test_the_check_lets_pass(code):
    assert not _naive(ast.parse(code), {"ops"})
