"""Keys: what each key does on the page: the verb that it asks for, or what `hands.ts` of the front end does alone."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Key:
    """What a key does on the page.

    Args:
        action: what the page calls it.
        keys: as the browser names them; Cmd counts as Ctrl.
        show: how the list of keys writes them; empty where another entry has them.
        does: what the list of keys says.
        verb: the verb it asks for; empty where the page needs nobody for it.
    """

    action: str
    keys: tuple[str, ...]
    show: str = ""
    does: str = ""
    verb: str = ""


KEYS = (
    Key("down", ("ArrowDown",), "Arrows", "move between boxes, along edges where there are any"),
    Key("up", ("ArrowUp",)),
    Key("left", ("ArrowLeft",)),
    Key("right", ("ArrowRight",)),
    Key("first", ("Home",), "Home, End", "first and last box"),
    Key("last", ("End",)),
    Key("select", (" ",), "Space, click", "select a box", "select"),
    Key("toggle", ("Ctrl+ ",), "Ctrl+Space, Ctrl+click", "add or remove it; Shift+drag selects by a frame", "select"),
    Key("open", ("Enter",), "Enter, double click", "unfold a box, fold an open group", "unfold"),
    Key("input", ("i",), "i", "mark the op's output as a boundary input", "mark_input"),
    Key("output", ("o",), "o", "mark the op's output as a boundary output", "mark_output"),
    Key("boundary", ("b",), "b", "go to the boundary: region and leaks"),
    Key("around", ("Shift+B",), "Shift+B", "make the boundary of what is selected", "boundary_of_selection"),
    Key("copy", ("c",), "c", "copy the region", "copy"),
    Key("connect", ("m",), "m, then m", "connect: first the tensor, then the op that shall read it", "connect"),
    Key("reroute", ("r",), "r, then r", "reroute: first the tensor, then the one its readers shall read", "reroute"),
    Key("stitch", ("Delete",), "Del", "take it out, and stitch; Shift+Del: take it out, with nothing in its place",
        "remove"),
    Key("remove", ("Shift+Delete",), verb="remove"),
    Key("edit", ("e",), "e", "all edits: bypass, insert, swap, rename, order, functions, all alike"),
    Key("undo", ("Ctrl+z",), "Ctrl+Z", "take back a step", "undo"),
    Key("redo", ("Ctrl+Shift+Z", "Ctrl+y"), "Ctrl+Shift+Z", "do it again", "redo"),
    Key("apply", ("Ctrl+Enter",), "Ctrl+Enter", "apply the plan", "apply"),
    Key("search", ("/",), "/", "search", "find"),
    Key("seen", ("s",), "s", "what is shown: depth, helpers, hidden types"),
    Key("train", ("g",), "g", "put gradients and updates away, or back", "set_training"),
    Key("run", ("x",), "x", "run the graph on a feed: numbers, shapes, times, the first NaN", "run"),
    Key("try", ("t",), "t", "try the plan: run what it would make, in a copy, and compare", "run"),
    Key("fit", ("f",), "f", "fit the picture"),
    Key("in", ("+", "="), "+, \u2212, 0", "zoom; also Ctrl+wheel. Drag to pan"),
    Key("out", ("-",)),
    Key("actual", ("0",)),
    Key("producer", ("p",), "p, n", "go to a producer, to a consumer (n: next), also into what is folded"),
    Key("consumer", ("n",)),
    Key("back", (",",), ", and .", "back and forward through where you have been", "back"),
    Key("forward", (".",), verb="forward"),
    Key("views", ("v",), "v, 1 to 9", "saved views: save, show, forget"),
    Key("view", ("1", "2", "3", "4", "5", "6", "7", "8", "9"), verb="show_view"),
    Key("map", ("w",), "w", "the map of the whole picture, in the corner"),
    Key("menu", ("ContextMenu", "Shift+F10"), "right click", "all that can be done with a box"),
    Key("escape", ("Escape",), "Esc", "cancel, clear", "cancel"),
    Key("help", ("?",), "?", "this list"),
)  # fmt: skip
"""All keys of the page, in the order in which people are told of them."""
