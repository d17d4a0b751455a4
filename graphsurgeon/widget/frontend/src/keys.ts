// Which key does what; the help overlay prints the same table.

export type Action =
  | "open" | "pick" | "toggle" | "input" | "output" | "boundary" | "around" | "copy" | "connect" | "reroute" | "edit" | "stitch" | "remove" | "undo" | "redo" | "apply"
  | "search" | "seen" | "train" | "fit" | "in" | "out" | "actual" | "producer" | "consumer" | "back" | "forward" | "views" | "view" | "map"
  | "up" | "down" | "left" | "right" | "first" | "last" | "escape" | "help" | "menu";

interface Binding { action: Action; keys: string[]; show: string; text: string }

export const BINDINGS: Binding[] = [
  { action: "down", keys: ["ArrowDown"], show: "Arrows", text: "move between boxes, along edges where there are any" },
  { action: "up", keys: ["ArrowUp"], show: "", text: "" },
  { action: "left", keys: ["ArrowLeft"], show: "", text: "" },
  { action: "right", keys: ["ArrowRight"], show: "", text: "" },
  { action: "first", keys: ["Home"], show: "Home, End", text: "first and last box" },
  { action: "last", keys: ["End"], show: "", text: "" },
  { action: "pick", keys: [" "], show: "Space, click", text: "pick a box" },
  { action: "toggle", keys: ["Ctrl+ "], show: "Ctrl+Space, Ctrl+click", text: "add it or take it away; Shift+drag picks by a frame" },
  { action: "open", keys: ["Enter"], show: "Enter, double click", text: "unfold a box, fold an open group" },
  { action: "input", keys: ["i"], show: "i", text: "mark the op's output as a boundary input" },
  { action: "output", keys: ["o"], show: "o", text: "mark the op's output as a boundary output" },
  { action: "boundary", keys: ["b"], show: "b", text: "go to the boundary: region and leaks" },
  { action: "around", keys: ["Shift+B"], show: "Shift+B", text: "make the boundary of what is picked" },
  { action: "copy", keys: ["c"], show: "c", text: "copy the region" },
  { action: "connect", keys: ["m"], show: "m, then m", text: "connect: first the tensor, then the op that shall read it" },
  { action: "reroute", keys: ["r"], show: "r, then r", text: "reroute: first the tensor, then the one its readers shall read" },
  { action: "stitch", keys: ["Delete"], show: "Del", text: "take it out, and stitch; Shift+Del: take it out, with nothing in its place" },
  { action: "remove", keys: ["Shift+Delete"], show: "", text: "" },
  { action: "edit", keys: ["e"], show: "e", text: "all edits: bypass, insert, swap, rename, order, functions, all alike" },
  { action: "undo", keys: ["Ctrl+z"], show: "Ctrl+Z", text: "take back a step" },
  { action: "redo", keys: ["Ctrl+Shift+Z", "Ctrl+y"], show: "Ctrl+Shift+Z", text: "do it again" },
  { action: "apply", keys: ["Ctrl+Enter"], show: "Ctrl+Enter", text: "apply the plan" },
  { action: "search", keys: ["/"], show: "/", text: "search" },
  { action: "seen", keys: ["s"], show: "s", text: "what is shown: depth, helpers, hidden types" },
  { action: "train", keys: ["g"], show: "g", text: "put gradients and updates away, or back" },
  { action: "fit", keys: ["f"], show: "f", text: "fit the picture" },
  { action: "in", keys: ["+", "="], show: "+, \u2212, 0", text: "zoom; also Ctrl+wheel. Drag to pan" },
  { action: "out", keys: ["-"], show: "", text: "" },
  { action: "actual", keys: ["0"], show: "", text: "" },
  { action: "producer", keys: ["p"], show: "p, n", text: "go to a producer, to a consumer (n: next), also into what is folded" },
  { action: "consumer", keys: ["n"], show: "", text: "" },
  { action: "back", keys: [","], show: ", and .", text: "back and forward through where you have been" },
  { action: "forward", keys: ["."], show: "", text: "" },
  { action: "views", keys: ["v"], show: "v, 1 to 9", text: "saved views: save, show, forget" },
  { action: "view", keys: ["1", "2", "3", "4", "5", "6", "7", "8", "9"], show: "", text: "" },
  { action: "map", keys: ["w"], show: "w", text: "the map of the whole picture, in the corner" },
  { action: "menu", keys: ["ContextMenu", "Shift+F10"], show: "right click", text: "all that can be done with a box" },
  { action: "escape", keys: ["Escape"], show: "Esc", text: "cancel, clear" },
  { action: "help", keys: ["?"], show: "?", text: "this list" },
];

const BY_KEY = new Map(BINDINGS.flatMap(b => b.keys.map(k => [k, b.action] as const)));

type Pressed = Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "shiftKey" | "altKey">;

/** The action of a key press, or null. Cmd counts as Ctrl. */
export function actionOf(e: Pressed): Action | null {
  if (e.altKey) return null;
  const command = e.ctrlKey || e.metaKey;
  let key = e.key;
  if (command && key.length === 1 && e.shiftKey) key = key.toUpperCase();
  else if (!e.shiftKey && key.length === 1) key = key.toLowerCase();
  // signs that need Shift on some keyboards ("+", "?", "/") are taken as they are
  const shift = e.shiftKey && (key.length > 1 || /[A-Z]/.test(key));
  return BY_KEY.get(`${command ? "Ctrl+" : ""}${shift ? "Shift+" : ""}${key}`) ?? null;
}
