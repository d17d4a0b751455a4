import { expect, test } from "vitest";
import { actionOf } from "../src/commands/registry";
import { keyOf, KEYS } from "../src/commands/keys";

const press = (key: string, more = {}) => actionOf({ key, ctrlKey: false, metaKey: false, shiftKey: false, altKey: false, ...more });

test.each([
  ["i", {}, "input"],
  ["o", {}, "output"],
  ["b", {}, "boundary"],
  ["B", { shiftKey: true }, "mark_boundary"],
  ["c", {}, "copy"],
  ["m", {}, "connect"],
  ["z", { ctrlKey: true }, "undo"],
  ["z", { metaKey: true }, "undo"],
  ["Z", { ctrlKey: true, shiftKey: true }, "redo"],
  ["z", { metaKey: true, shiftKey: true }, "redo"],
  ["Enter", { ctrlKey: true }, "apply"],
  ["Enter", {}, "open"],
  ["/", {}, "search"],
  ["/", { shiftKey: true }, "search"],
  ["f", {}, "fit"],
  ["+", { shiftKey: true }, "in"],
  ["-", {}, "out"],
  ["0", {}, "actual"],
  ["Escape", {}, "escape"],
  ["?", { shiftKey: true }, "help"],
  [" ", {}, "select"],
  [" ", { ctrlKey: true }, "toggle"],
  ["ArrowDown", {}, "down"],
  ["I", {}, "input"],
  ["z", {}, "change"],
  ["Z", { shiftKey: true }, "change_before"],
])("%s %o is %s", (key, more, action) => expect(press(key, more)).toBe(action));

test.each([
  ["s", { ctrlKey: true }],
  ["i", { altKey: true }],
  [";", { shiftKey: true }],
  [";", {}],
])("%s %o is left alone", (key, more) => {
  expect(press(key, more)).toBe(null);
});

test("the key that menus and buttons write does the action", () => {
  for (const [action] of KEYS) {
    const [, ctrl, shift, name = ""] = /^(Ctrl\+)?(Shift\+)?(.+)$/.exec(keyOf(action))!,
      key = { Del: "Delete", Space: " " }[name] ?? (ctrl && !shift && name.length === 1 ? name.toLowerCase() : name);
    expect(actionOf({ key, ctrlKey: !!ctrl, metaKey: false, shiftKey: !!shift, altKey: false }), action).toBe(action);
  }
});
