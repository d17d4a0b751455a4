"""Names in what is said of a plan lead to what they name."""

from __future__ import annotations

from graphsurgeon.graph.graph import Graph
from graphsurgeon.ui.page_data import links
from tests.screen.screens import row_of_ops, traits

AFTER = Graph.from_ops(
    [("in/c", "Neg", []), ("copy/in/c", "Neg", []), ("reader", "Neg", []), ("is", "Neg", []), ("w", "Neg", [])]
)
BEFORE = Graph.from_ops([("gone", "Neg", []), ("w", "Neg", [])])


def named(text: str) -> list[tuple[str, str]]:
    parts = links([text], {"destination": AFTER, "source": BEFORE}).get(text, [[text]])
    assert "".join(part for part, *_ in parts) == text
    return [(name, pane) for _, name, pane in (part for part in parts if len(part) > 1)]


def test_quoted_names_tensors_and_entries_of_a_list_are_names():
    assert named("connect('in/c:0', to='reader', input=0)") == [("in/c", "destination"), ("reader", "destination")]
    assert named("no longer used: in/c:0, gone and w.") == [
        ("in/c", "destination"), ("gone", "source"), ("w", "destination")
    ]  # fmt: skip
    assert named("copied to copy/, waiting for ^gone/x and ^in/c") == [
        ("copy/", "destination"),
        ("in/c", "destination"),
    ]


def test_words_are_not_names_even_where_an_op_is_called_so():
    assert named("w is no longer used, and w") == []
    assert named("no values given: 1 variable is new") == []
    assert named("is") == []


def test_faults_and_warnings_of_a_screen_name_what_it_shows():
    screen = row_of_ops()
    screen.connect("a", "d")
    plan = traits(screen)["plan"]
    assert plan["links"] == {
        w: [[w.removesuffix("in/c:0")], ["in/c:0", "in/c", "destination"]] for w in plan["warnings"]
    }
    screen.insert("Neg", "e:0", "a")
    plan = traits(screen)["plan"]
    [fault] = plan["faults"]
    assert ["e:0", "e", "destination"] in plan["links"][fault["request"]]
