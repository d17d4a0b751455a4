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
    Key("toggle", ("Ctrl+ ",), "Ctrl+Space, Ctrl+click", "add or remove it; Shift+click adds, a drag draws a frame",
        "select"),
    Key("all", ("Ctrl+a",), "Ctrl+A", "select all boxes", "select"),
    Key("lasso", ("l",), "l", "the lasso: a drag selects what it goes around"),
    Key("hand", ("h",), "h, Space+drag", "the hand: a drag pans; so does the middle button"),
    Key("open", ("Enter",), "Enter, double click", "unfold a box, fold an open group", "unfold"),
    Key("input", ("i",), "i, Alt+drag", "mark the op's output, or the edges that a stroke crosses, as boundary inputs",
        "mark_input"),
    Key("output", ("o",), "o, Alt+Shift+drag", "the same as boundary outputs; Alt+drag with the other button cuts",
        "mark_output"),
    Key("boundary", ("b",), "b", "go to the boundary: region and leaks"),
    Key("around", ("Shift+B",), "Shift+B", "make the boundary of what is selected", "boundary_of_selection"),
    Key("lens", ("q",), "q", "the lens: only what is near what is selected; a slider says how near"),
    Key("isolate", ("Shift+Q",), "Shift+Q", "the region alone, with its ports; without one, what is selected"),
    Key("between", ("j",), "j", "select all that lies between two selected boxes", "select_between"),
    Key("why", ("u",), "u", "why one of two selected boxes needs the other: the shortest way", "why"),
    Key("near", ("k",), "k", "boundaries near what is selected that few tensors cross", "suggest_boundaries"),
    Key("copy", ("c",), "c", "copy the region", "copy"),
    Key("hold", ("Ctrl+c",), "Ctrl+C, X, V", "hold what is selected, cut it, paste a copy, also elsewhere", "hold"),
    Key("cut", ("Ctrl+x",), verb="cut"),
    Key("paste", ("Ctrl+v",), verb="paste"),
    Key("paste_kept", ("Ctrl+Shift+V",), "Ctrl+Shift+V", "paste a copy that reads what the original reads", "paste"),
    Key("duplicate", ("Ctrl+d",), "Ctrl+D", "copy what is selected in place: it reads the same", "duplicate"),
    Key("connect", ("m",), "m, then m", "connect: first the tensor, then its reader; twice on one box: all that could",
        "connect"),
    Key("reroute", ("r",), "r, then r", "reroute: first the tensor, then the one its readers should read", "reroute"),
    Key("stitch", ("Delete",), "Del", "take it out, and stitch; Shift+Del: take it out, with nothing in its place",
        "remove"),
    Key("remove", ("Shift+Delete",), verb="remove"),
    Key("type", ("y",), "y", "put another op type in the place of all that looks like it", "op_types"),
    Key("attribute", ("a",), "a", "set an attribute of what is selected", "set_attr"),
    Key("edit", ("e",), "e", "all edits: bypass, insert, swap, rename, order, functions, all alike"),
    Key("undo", ("Ctrl+z",), "Ctrl+Z", "take back a step, a mark, a selection", "undo"),
    Key("redo", ("Ctrl+Shift+Z", "Ctrl+y"), "Ctrl+Shift+Z, Ctrl+Y", "do it again", "redo"),
    Key("apply", ("Ctrl+Enter",), "Ctrl+Enter", "apply the plan", "apply"),
    Key("save", ("Shift+S",), "Shift+S", "save, export: a model with its signature, a picture, a page", "save"),
    Key("recipes", ("Shift+R",), "Shift+R", "recipes: inference form, input shapes, splits, TFLite", "recipes"),
    Key("search", ("/",), "/", "search", "find"),
    Key("hit", ("F3",), "F3, Shift+F3", "next and previous hit of the search"),
    Key("hit_before", ("Shift+F3",)),
    Key("seen", ("s",), "s", "what is shown: depth, helpers, hidden types"),
    Key("train", ("g",), "g", "put gradients and updates away, or back", "set_training"),
    Key("run", ("x",), "x", "run the graph on a feed: numbers, shapes, times, the first NaN", "run"),
    Key("try", ("t",), "t", "try the plan: run what it would make, in a copy, and compare", "run"),
    Key("stages", ("d",), "d", "before the plan, after it, both beside one another, panned and zoomed as one",
        "set_stage"),
    Key("change", ("z",), "z, Shift+Z", "next and previous change of the plan"),
    Key("change_before", ("Shift+Z",)),
    Key("fit", ("f",), "f", "fit the picture"),
    Key("full", ("Shift+F",), "Shift+F", "take the full window, and give it back"),
    Key("in", ("+", "="), "+, \u2212, 0", "zoom; also Ctrl+wheel"),
    Key("out", ("-",)),
    Key("actual", ("0",)),
    Key("producer", ("p",), "p, n", "go to a producer, to a consumer (n: next), also into what is folded"),
    Key("consumer", ("n",)),
    Key("back", (",",), ", and .", "back and forward through where you have been", "back"),
    Key("forward", (".",), verb="forward"),
    Key("views", ("v",), "v, 1 to 9", "saved views: save, show, forget"),
    Key("view", ("1", "2", "3", "4", "5", "6", "7", "8", "9"), verb="show_view"),
    Key("map", ("w",), "w", "the map of the whole picture, or no map"),
    Key("menu", ("ContextMenu", "Shift+F10"), "right click", "all that can be done with a box"),
    Key("escape", ("Escape",), "Esc", "cancel, clear", "cancel"),
    Key("help", ("?",), "?", "this list"),
)  # fmt: skip
"""All keys of the page, in the order in which people read them."""
