// The keys, written from graphsurgeon/ui/commands/keys.py by tools/write_verbs.py.

export type Action =
  | "select" | "open" | "menu" | "undo" | "apply" | "down" | "up" | "left" | "right" | "first" | "last" | "search"
  | "hit" | "hit_before" | "producer" | "consumer" | "back" | "forward" | "views" | "view" | "fit" | "in" | "out"
  | "actual" | "full" | "map" | "seen" | "train" | "lens" | "isolate" | "help" | "toggle" | "all" | "between" | "show_path"
  | "escape" | "input" | "output" | "boundary" | "mark_boundary" | "near" | "copy" | "copy_to_clipboard" | "cut"
  | "paste" | "duplicate" | "connect" | "reroute" | "stitch" | "remove" | "type" | "attribute" | "edit" | "recipes"
  | "redo" | "change" | "change_before" | "plan_view" | "save" | "run" | "try";

/** An action, its keys, how the list of shortcuts writes them, and its text there. */
export type Key = [Action, string[], string?, string?];

/** The keys by group, in the order of the list of shortcuts. */
export const GROUPS: [string, Key[]][] = [
  [
    "Basics",
    [
      ["select", [" "], "Space, click", "select a box; Shift+drag selects the boxes in a frame"],
      ["open", ["Enter"], "Enter, double click", "unfold or fold a box"],
      ["menu", ["ContextMenu", "Shift+F10"], "right click", "menu of a box or an edge"],
      ["undo", ["Ctrl+z"], "Ctrl+Z", "undo a step, a mark or a selection"],
      ["apply", ["Ctrl+Enter"], "Ctrl+Enter", "apply the plan"],
    ],
  ],
  [
    "Look",
    [
      ["down", ["ArrowDown"], "Arrows", "move between boxes, along edges if possible"],
      ["up", ["ArrowUp"]],
      ["left", ["ArrowLeft"]],
      ["right", ["ArrowRight"]],
      ["first", ["Home"], "Home, End", "first or last box"],
      ["last", ["End"]],
      ["search", ["/"], "/", "search"],
      ["hit", ["F3"], "F3, Shift+F3", "next or previous result of the search"],
      ["hit_before", ["Shift+F3"]],
      ["producer", ["p"], "p, n", "go to a producer (p) or a consumer (n), even if it is folded"],
      ["consumer", ["n"]],
      ["back", [","], ", and .", "back or forward through visited places"],
      ["forward", ["."]],
      ["views", ["v"], "v, 1 to 9", "save, show or delete views"],
      ["view", ["1", "2", "3", "4", "5", "6", "7", "8", "9"]],
      ["fit", ["f"], "f, drag, wheel", "fit to window; a drag moves the picture, and after a click in it, the wheel does too"],
      ["in", ["+", "="], "+, −, 0", "zoom in, zoom out, zoom to 100 %; also Ctrl+wheel or pinch"],
      ["out", ["-"]],
      ["actual", ["0"]],
      ["full", ["Shift+F"], "Shift+F", "full screen, on or off"],
      ["map", ["w"], "w", "map of the graph, on or off"],
      ["seen", ["s"], "s", "view options: depth, helpers, hidden types"],
      ["train", ["g"], "g", "hide or show gradients and updates"],
      ["lens", ["q"], "q", "focus: show only neighbors of the selection"],
      ["isolate", ["Shift+Q"], "Shift+Q", "show only the region, or only the selection"],
      ["help", ["?"], "?", "this list"],
    ],
  ],
  [
    "Select",
    [
      ["toggle", ["Ctrl+ "], "Ctrl+Space, Ctrl+click", "add or remove a box; Shift+click only adds"],
      ["all", ["Ctrl+a"], "Ctrl+A", "select all boxes"],
      ["between", ["j"], "j", "select all boxes between two selected boxes"],
      ["show_path", ["u"], "u", "shortest path between two selected boxes: why one needs the other"],
      ["escape", ["Escape"], "Esc", "cancel, or clear the selection"],
    ],
  ],
  [
    "Mark",
    [
      ["input", ["i"], "i", "mark an op's output as a boundary input"],
      ["output", ["o"], "o", "mark an op's output as a boundary output"],
      ["boundary", ["b"], "b", "go to the boundary: region and leaks"],
      ["mark_boundary", ["Shift+B"], "Shift+B", "mark the boundary of the selection"],
      ["near", ["k"], "k", "suggest boundaries near the selection that few tensors cross"],
    ],
  ],
  [
    "Edit",
    [
      ["copy", ["c"], "c", "copy the region, or the selection, to a scope"],
      ["copy_to_clipboard", ["Ctrl+c"], "Ctrl+C, X, V", "copy, cut and paste, also between graphs"],
      ["cut", ["Ctrl+x"]],
      ["paste", ["Ctrl+v"]],
      ["duplicate", ["Ctrl+d"], "Ctrl+D", "duplicate the selection; the duplicate keeps its inputs"],
      ["connect", ["m"], "m, then m", "connect: press on the source, then on the consumer; twice on one box lists candidates"],
      ["reroute", ["r"], "r, then r", "reroute: press on the old source, then on the new source of its consumers"],
      ["stitch", ["Delete"], "Del, Shift+Del", "remove and reconnect; only remove"],
      ["remove", ["Shift+Delete"]],
      ["type", ["y"], "y", "replace all similar ops"],
      ["attribute", ["a"], "a", "set an attribute of the selection"],
      ["edit", ["e"], "e", "all edits…"],
      ["recipes", ["Shift+R"], "Shift+R", "recipes: inference form, input shapes, splits, TFLite"],
    ],
  ],
  [
    "Plan",
    [
      ["redo", ["Ctrl+Shift+Z", "Ctrl+y"], "Ctrl+Shift+Z, Ctrl+Y", "redo"],
      ["change", ["z"], "z, Shift+Z", "next or previous change of the plan"],
      ["change_before", ["Shift+Z"]],
      ["plan_view", ["d"], "d", "show the graph before the plan, after it, or both"],
      ["save", ["Shift+S"], "Shift+S", "save or export a model, a picture or a page"],
    ],
  ],
  [
    "Run",
    [
      ["run", ["x"], "x", "run the graph with inputs: values, shapes, times, the first NaN"],
      ["try", ["t"], "t", "try the plan: apply it to a copy, run the copy, and compare"],
    ],
  ],
];

export const KEYS = GROUPS.flatMap(([, keys]) => keys);
