"""The keys of a screen, by group. `tools/write_verbs.py` writes them for the page and for the documentation."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Key:
    """The effect of a key on the page.

    Args:
        action: the name of the action on the page.
        keys: the names of the keys in the browser; Cmd counts as Ctrl.
        show: the text for the keys in the list of shortcuts; empty if another entry has them.
        summary: the text of the list of shortcuts.
        verb: the verb that the key sends; empty if the page needs no answer for it.
    """

    action: str
    keys: tuple[str, ...]
    show: str = ""
    summary: str = ""
    verb: str = ""


GROUPS: dict[str, tuple[Key, ...]] = {
    "Basics": (
        Key("select", (" ",), "Space, click", "select a box; Shift+drag selects the boxes in a frame", "select"),
        Key("open", ("Enter",), "Enter, double click", "unfold or fold a box", "unfold"),
        Key("menu", ("ContextMenu", "Shift+F10"), "right click", "menu of a box or an edge"),
        Key("undo", ("Ctrl+z",), "Ctrl+Z", "undo a step, a mark or a selection", "undo"),
        Key("apply", ("Ctrl+Enter",), "Ctrl+Enter", "apply the plan", "apply"),
    ),
    "Look": (
        Key("down", ("ArrowDown",), "Arrows", "move between boxes, along edges if possible"),
        Key("up", ("ArrowUp",)),
        Key("left", ("ArrowLeft",)),
        Key("right", ("ArrowRight",)),
        Key("first", ("Home",), "Home, End", "first or last box"),
        Key("last", ("End",)),
        Key("search", ("/",), "/", "search", "find"),
        Key("hit", ("F3",), "F3, Shift+F3", "next or previous result of the search"),
        Key("hit_before", ("Shift+F3",)),
        Key("producer", ("p",), "p, n", "go to a producer (p) or a consumer (n), even if it is folded"),
        Key("consumer", ("n",)),
        Key("back", (",",), ", and .", "back or forward through visited places", "back"),
        Key("forward", (".",), verb="forward"),
        Key("views", ("v",), "v, 1 to 9", "save, show or delete views"),
        Key("view", ("1", "2", "3", "4", "5", "6", "7", "8", "9"), verb="show_view"),
        Key("fit", ("f",), "f, drag, wheel",
            "fit to window; a drag moves the picture, and after a click in it, the wheel does too"),
        Key("in", ("+", "="), "+, \u2212, 0", "zoom in, zoom out, zoom to 100 %; also Ctrl+wheel or pinch"),
        Key("out", ("-",)),
        Key("actual", ("0",)),
        Key("full", ("Shift+F",), "Shift+F", "full screen, on or off"),
        Key("map", ("w",), "w", "map of the graph, on or off"),
        Key("seen", ("s",), "s", "view options: depth, helpers, hidden types"),
        Key("train", ("g",), "g", "hide or show gradients and updates", "show_training"),
        Key("lens", ("q",), "q", "focus: show only neighbors of the selection"),
        Key("isolate", ("Shift+Q",), "Shift+Q", "show only the region, or only the selection"),
        Key("help", ("?",), "?", "this list"),
    ),
    "Select": (
        Key("toggle", ("Ctrl+ ",), "Ctrl+Space, Ctrl+click", "add or remove a box; Shift+click only adds", "select"),
        Key("all", ("Ctrl+a",), "Ctrl+A", "select all boxes", "select"),
        Key("between", ("j",), "j", "select all boxes between two selected boxes", "select_between"),
        Key("show_path", ("u",), "u", "shortest path between two selected boxes: why one needs the other", "show_path"),
        Key("escape", ("Escape",), "Esc", "cancel, or clear the selection", "cancel"),
    ),
    "Mark": (
        Key("input", ("i",), "i", "mark an op's output as a boundary input", "mark_input"),
        Key("output", ("o",), "o", "mark an op's output as a boundary output", "mark_output"),
        Key("boundary", ("b",), "b", "go to the boundary: region and leaks"),
        Key("mark_boundary", ("Shift+B",), "Shift+B", "mark the boundary of the selection", "mark_boundary"),
        Key("near", ("k",), "k", "suggest boundaries near the selection that few tensors cross", "suggest_boundaries"),
    ),
    "Edit": (
        Key("copy", ("c",), "c", "copy the region, or the selection, to a scope", "copy"),
        Key("copy_to_clipboard", ("Ctrl+c",), "Ctrl+C, X, V", "copy, cut and paste, also between graphs",
            "copy_to_clipboard"),
        Key("cut", ("Ctrl+x",), verb="cut"),
        Key("paste", ("Ctrl+v",), verb="paste"),
        Key("duplicate", ("Ctrl+d",), "Ctrl+D", "duplicate the selection; the duplicate keeps its inputs", "duplicate"),
        Key("connect", ("m",), "m, then m",
            "connect: press on the source, then on the consumer; twice on one box lists candidates", "connect"),
        Key("reroute", ("r",), "r, then r", "reroute: press on the old source, then on the new source of its consumers",
            "reroute"),
        Key("stitch", ("Delete",), "Del, Shift+Del", "remove and reconnect; only remove", "remove"),
        Key("remove", ("Shift+Delete",), verb="remove"),
        Key("type", ("y",), "y", "replace all similar ops", "op_types"),
        Key("attribute", ("a",), "a", "set an attribute of the selection", "set_attr"),
        Key("edit", ("e",), "e", "all edits\u2026"),
        Key("recipes", ("Shift+R",), "Shift+R", "recipes: inference form, input shapes, splits, TFLite", "recipes"),
    ),
    "Plan": (
        Key("redo", ("Ctrl+Shift+Z", "Ctrl+y"), "Ctrl+Shift+Z, Ctrl+Y", "redo", "redo"),
        Key("change", ("z",), "z, Shift+Z", "next or previous change of the plan"),
        Key("change_before", ("Shift+Z",)),
        Key("plan_view", ("d",), "d", "show the graph before the plan, after it, or both", "set_plan_view"),
        Key("save", ("Shift+S",), "Shift+S", "save or export a model, a picture or a page", "save"),
    ),
    "Run": (
        Key("run", ("x",), "x", "run the graph with inputs: values, shapes, times, the first NaN", "run"),
        Key("try", ("t",), "t", "try the plan: apply it to a copy, run the copy, and compare", "run"),
    ),
}  # fmt: skip
"""The keys of the page, by group, in the order of the list of shortcuts."""

KEYS: tuple[Key, ...] = tuple(key for keys in GROUPS.values() for key in keys)
"""All keys of the page, in the same order."""
