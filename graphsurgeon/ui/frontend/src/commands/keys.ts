// The keys of the screen, in the order of the list of shortcuts. `tools/write_verbs.py` writes the documentation from them.
import type { Verbs } from "../model/types.generated";

/** An action, its keys, how the list of shortcuts writes them, its text there, and the verb that it sends. An action is only offered if
 * its verb is answered: a saved page answers few verbs. */
type Key<A = string> = readonly [action: A, keys: readonly string[], sign?: string, text?: string, verb?: keyof Verbs];

const TABLE = [
  [
    "Basics",
    [
      ["select", [" "], "Space, click", "select a box; Shift+drag selects the boxes in a frame", "select"],
      ["open", ["Enter"], "Enter, double click", "unfold or fold a box", "unfold"],
      ["menu", ["ContextMenu", "Shift+F10"], "right click", "menu of a box or an edge"],
      ["undo", ["Ctrl+z"], "Ctrl+Z", "undo a step, a mark or a selection", "undo"],
      ["apply", ["Ctrl+Enter"], "Ctrl+Enter", "apply the plan", "apply"],
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
      ["edge", ["l"], "l, Shift+L", "next or previous edge of a box; Enter goes to its other end", "edge_tensors"],
      ["edge_before", ["Shift+L"], "", "", "edge_tensors"],
      ["search", ["/"], "/", "search", "find"],
      ["palette", ["Ctrl+k"], "Ctrl+K", "find and run any command, recipe, view or op"],
      ["hit", ["F3"], "F3, Shift+F3", "next or previous result of the search"],
      ["hit_before", ["Shift+F3"]],
      ["producer", ["p"], "p, n", "go to a producer (p) or a consumer (n), even if it is folded", "reveal"],
      ["consumer", ["n"], "", "", "reveal"],
      ["back", [","], ", and .", "back or forward through visited places", "back"],
      ["forward", ["."], "", "", "forward"],
      ["views", ["v"], "v, 1 to 9", "save, show or delete views"],
      ["view", ["1", "2", "3", "4", "5", "6", "7", "8", "9"], "", "", "show_view"],
      ["fit", ["f"], "f, drag, wheel", "fit to window; a drag moves the picture, and after a click in it, the wheel does too"],
      ["in", ["+", "="], "+, \u2212, 0", "zoom in, zoom out, zoom to 100 %; also Ctrl+wheel or pinch"],
      ["out", ["-"]],
      ["actual", ["0"]],
      ["full", ["Shift+F"], "Shift+F", "full screen, on or off"],
      ["map", ["w"], "w", "map of the graph, on or off"],
      ["seen", ["s"], "s", "view options: depth, helpers, hidden types", "set_depth"],
      ["train", ["g"], "g", "hide or show gradients and updates", "show_training"],
      ["lens", ["q"], "q", "focus: show only neighbors of the selection"],
      ["isolate", ["Shift+Q"], "Shift+Q", "show only the region, or only the selection"],
      ["help", ["?"], "?", "this list"],
    ],
  ],
  [
    "Select",
    [
      ["toggle", ["Ctrl+ "], "Ctrl+Space, Ctrl+click", "add or remove a box; Shift+click only adds", "select"],
      ["all", ["Ctrl+a"], "Ctrl+A", "select all boxes", "select"],
      ["between", ["j"], "j", "select all boxes between two selected boxes", "select_between"],
      ["show_path", ["u"], "u", "shortest path between two selected boxes: why one needs the other", "show_path"],
      ["escape", ["Escape"], "Esc", "cancel, or clear the selection"],
    ],
  ],
  [
    "Mark",
    [
      ["input", ["i"], "i", "mark an op's output as a boundary input", "mark_input"],
      ["output", ["o"], "o", "mark an op's output as a boundary output", "mark_output"],
      ["boundary", ["b"], "b", "go to the boundary: region and leaks", "mark_input"],
      ["mark_boundary", ["Shift+B"], "Shift+B", "mark the boundary of the selection", "mark_boundary"],
      ["near", ["k"], "k", "suggest boundaries near the selection that few tensors cross", "suggest_boundaries"],
    ],
  ],
  [
    "Edit",
    [
      ["copy", ["c"], "c", "copy the region, or the selection, to a scope", "copy"],
      ["copy_to_clipboard", ["Ctrl+c"], "Ctrl+C, X, V", "copy, cut and paste, also between graphs", "copy_to_clipboard"],
      ["cut", ["Ctrl+x"], "", "", "cut"],
      ["paste", ["Ctrl+v"], "", "", "paste"],
      ["duplicate", ["Ctrl+d"], "Ctrl+D", "duplicate the selection; the duplicate keeps its inputs", "duplicate"],
      ["connect", ["m"], "m, then m", "connect: press on the source, then on the consumer; twice on one box lists candidates", "connect"],
      ["reroute", ["r"], "r, then r", "reroute: press on the old source, then on the new source of its consumers", "reroute"],
      ["stitch", ["Delete"], "Del, Shift+Del", "remove and reconnect; only remove", "remove"],
      ["remove", ["Shift+Delete"], "", "", "remove"],
      ["type", ["y"], "y", "replace all similar ops", "replace"],
      ["attribute", ["a"], "a", "set an attribute of the selection", "set_attr"],
      ["rename", ["F2"], "F2", "rename an op or a scope", "rename"],
      ["edit", ["e"], "e", "all edits\u2026", "rename"],
      ["recipes", ["Shift+R"], "Shift+R", "recipes: inference form, input shapes, splits, TFLite", "recipes"],
    ],
  ],
  [
    "Plan",
    [
      ["redo", ["Ctrl+Shift+Z", "Ctrl+y"], "Ctrl+Shift+Z, Ctrl+Y", "redo", "redo"],
      ["change", ["z"], "z, Shift+Z", "next or previous change of the plan"],
      ["change_before", ["Shift+Z"]],
      ["plan_view", ["d"], "d", "show the graph before the plan, after it, or both"],
      ["save", ["Shift+S"], "Shift+S", "save or export a model, a picture or a page", "save"],
    ],
  ],
  [
    "Run",
    [
      ["run", ["x"], "x", "run the graph with inputs: values, shapes, times, the first NaN", "run"],
      ["try", ["t"], "t", "try the plan: apply it to a copy, run the copy, and compare", "run"],
    ],
  ],
] as const satisfies readonly (readonly [string, readonly Key[]])[];

export type Action = (typeof TABLE)[number][1][number][0];

/** The keys by group. */
export const GROUPS: readonly (readonly [group: string, keys: readonly Key<Action>[]])[] = TABLE;
export const KEYS = GROUPS.flatMap(([, keys]) => keys);

const BY_ACTION = new Map(KEYS.map(row => [row[0], row]));

/** The verb that an action sends, if it sends one. */
export function verbOf(action: Action): keyof Verbs | undefined {
  return BY_ACTION.get(action)![4];
}

/** The first key of an action, as menus and buttons write it. */
export function keyOf(action: Action): string {
  const key = BY_ACTION.get(action)![1][0]!.replace("Delete", "Del").replace(/ $/, "Space");
  return key.replace(/^(Ctrl\+)(.)$/, (_, ctrl: string, letter: string) => ctrl + letter.toUpperCase());
}
