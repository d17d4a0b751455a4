// The verbs and the keys, written from graphsurgeon/screen/verbs.py by tools/write_verbs.py.

export type PaneName = "destination" | "source";
export type Mode = "add" | "set" | "toggle";
export type Unmapped = "include" | "keep" | "placeholder" | "refuse";
export type Training = "away" | "beside" | "scopes";
export type ColourBy = "device" | "dtype" | "family" | "scope" | "structure";
export type Policy = "copy" | "freeze" | "initial" | "share";

/** Verb -> its arguments. */
export interface Verbs {
  select: { names: string[]; mode: Mode };
  unfold: { name: string; pane: PaneName };
  fold: { name: string; pane: PaneName };
  fold_all: { pane: PaneName };
  reveal: { name: string; pane: PaneName };
  outline_open: { name: string };
  outline_close: { name: string };
  details: { name: string; pane: PaneName };
  find: { query: string };
  find_like: { names: string[] };
  value: { name: string };
  show_signature: { name: string };
  cancel: Record<string, never>;
  back: Record<string, never>;
  forward: Record<string, never>;
  save_view: { name: string | null; at: number[] };
  show_view: { name: string };
  forget_view: { name: string };
  set_direction: { direction: "LR" | "TB" | "auto" };
  set_depth: { depth: number; pane: PaneName };
  set_budget: { boxes: number };
  show_helpers: { kind: string; on: boolean };
  hide_ops: { types: string[] };
  set_training: { mode: Training };
  paint: { by: ColourBy };
  fade: { keys: string[] };
  mark_input: { tensor: string };
  mark_output: { tensor: string };
  unmark: { tensor: string };
  clear_boundary: Record<string, never>;
  boundary_of_selection: Record<string, never>;
  add_leak: { tensor: string };
  copy: { to: string | null; unmapped: Unmapped };
  connect: { tensor: string; to: string; input: number };
  set_policy: { step: number; variable: string; policy: Policy };
  reroute: { old: string; to: string };
  swap: { a: string; b: string };
  bypass: { op: string };
  detach: { names: string[]; side: "both" | "inputs" | "outputs" };
  insert: { op: string; on: string; name: string | null };
  insert_copy: { names: string[]; on: string; to: string | null };
  remove: { names: string[]; stitch: boolean };
  set_attr: { names: string[]; name: string; value: string };
  set_device: { names: string[]; device: string };
  add_control: { op: string; after: string };
  remove_control: { op: string; after: string | null };
  reroute_control: { old: string; to: string };
  rename: { old: string; to: string };
  collapse: { names: string[]; name: string | null };
  inline: { names: string[] };
  unroll: { loop: string; times: number };
  resolve_condition: { name: string; value: string };
  replace: { names: string[]; by: string; external: "keep" | "refuse" };
  on_copies: { scope: string | null; until: string[]; assign: "copy" | "leave" };
  undo: Record<string, never>;
  redo: Record<string, never>;
  apply: Record<string, never>;
}

export type Action =
  | "down" | "up" | "left" | "right" | "first" | "last" | "select" | "toggle" | "open" | "input" | "output" | "boundary"
  | "around" | "copy" | "connect" | "reroute" | "stitch" | "remove" | "edit" | "undo" | "redo" | "apply" | "search"
  | "seen" | "train" | "fit" | "in" | "out" | "actual" | "producer" | "consumer" | "back" | "forward" | "views"
  | "view" | "map" | "menu" | "escape" | "help";

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
