// The keys, written from graphsurgeon/screen/keys.py by tools/write_verbs.py; hands.ts does them.

export type Action =
  | "down" | "up" | "left" | "right" | "first" | "last" | "select" | "toggle" | "open" | "input" | "output" | "boundary"
  | "around" | "copy" | "connect" | "reroute" | "stitch" | "remove" | "edit" | "undo" | "redo" | "apply" | "search"
  | "seen" | "train" | "run" | "try" | "fit" | "in" | "out" | "actual" | "producer" | "consumer" | "back" | "forward"
  | "views" | "view" | "map" | "menu" | "escape" | "help";

/** Action, its keys, how they are written, what they do. */
export const KEYS: [Action, string[], string?, string?][] = [
  ["down", ["ArrowDown"], "Arrows", "move between boxes, along edges where there are any"],
  ["up", ["ArrowUp"]],
  ["left", ["ArrowLeft"]],
  ["right", ["ArrowRight"]],
  ["first", ["Home"], "Home, End", "first and last box"],
  ["last", ["End"]],
  ["select", [" "], "Space, click", "select a box"],
  ["toggle", ["Ctrl+ "], "Ctrl+Space, Ctrl+click", "add or remove it; Shift+drag selects by a frame"],
  ["open", ["Enter"], "Enter, double click", "unfold a box, fold an open group"],
  ["input", ["i"], "i", "mark the op's output as a boundary input"],
  ["output", ["o"], "o", "mark the op's output as a boundary output"],
  ["boundary", ["b"], "b", "go to the boundary: region and leaks"],
  ["around", ["Shift+B"], "Shift+B", "make the boundary of what is selected"],
  ["copy", ["c"], "c", "copy the region"],
  ["connect", ["m"], "m, then m", "connect: first the tensor, then the op that shall read it"],
  ["reroute", ["r"], "r, then r", "reroute: first the tensor, then the one its readers shall read"],
  ["stitch", ["Delete"], "Del", "take it out, and stitch; Shift+Del: take it out, with nothing in its place"],
  ["remove", ["Shift+Delete"]],
  ["edit", ["e"], "e", "all edits: bypass, insert, swap, rename, order, functions, all alike"],
  ["undo", ["Ctrl+z"], "Ctrl+Z", "take back a step"],
  ["redo", ["Ctrl+Shift+Z", "Ctrl+y"], "Ctrl+Shift+Z", "do it again"],
  ["apply", ["Ctrl+Enter"], "Ctrl+Enter", "apply the plan"],
  ["search", ["/"], "/", "search"],
  ["seen", ["s"], "s", "what is shown: depth, helpers, hidden types"],
  ["train", ["g"], "g", "put gradients and updates away, or back"],
  ["run", ["x"], "x", "run the graph on a feed: numbers, shapes, times, the first NaN"],
  ["try", ["t"], "t", "try the plan: run what it would make, in a copy, and compare"],
  ["fit", ["f"], "f", "fit the picture"],
  ["in", ["+", "="], "+, −, 0", "zoom; also Ctrl+wheel. Drag to pan"],
  ["out", ["-"]],
  ["actual", ["0"]],
  ["producer", ["p"], "p, n", "go to a producer, to a consumer (n: next), also into what is folded"],
  ["consumer", ["n"]],
  ["back", [","], ", and .", "back and forward through where you have been"],
  ["forward", ["."]],
  ["views", ["v"], "v, 1 to 9", "saved views: save, show, forget"],
  ["view", ["1", "2", "3", "4", "5", "6", "7", "8", "9"]],
  ["map", ["w"], "w", "the map of the whole picture, in the corner"],
  ["menu", ["ContextMenu", "Shift+F10"], "right click", "all that can be done with a box"],
  ["escape", ["Escape"], "Esc", "cancel, clear"],
  ["help", ["?"], "?", "this list"],
];
