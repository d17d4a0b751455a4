// The palette of commands, the list of keys, and the Tab stops of the bar at the top.
import { beforeEach, expect, test } from "vitest";
import { click, host, item, key, model, settled, start } from "./mounted";

const dialog = () => host.querySelector<HTMLElement>(".gs-dialog");
const found = () => [...host.querySelectorAll<HTMLElement>(".gs-dialog .gs-hit-name")].map(e => e.textContent);
async function type(text: string): Promise<void> {
  const input = dialog()!.querySelector("input")!;
  input.value = text;
  input.dispatchEvent(new Event("input", { bubbles: true }));
  await settled();
}

beforeEach(() => start());

async function openPalette(): Promise<void> {
  item("a").focus();
  key(item("a"), "k", { ctrlKey: true });
  await settled();
  const recipe = { name: "strip", description: "", group: "Strip", unavailable_reason: "", adds_steps: true, form: [] };
  model.answer("recipes", [
    { ...recipe, summary: "Remove dropout" },
    { ...recipe, name: "no", summary: "Remove FakeQuant", unavailable_reason: "it has none" },
  ]);
  await settled();
}

test("Ctrl+K lists commands, recipes that apply, and ops, and does what is chosen", async () => {
  await openPalette();
  expect(found()).toContain("fit to window; a drag moves the picture, and after a click in it, the wheel does too");
  expect(found()).toContain("Remove dropout");
  expect(found()).not.toContain("Remove FakeQuant");
  await type("undo");
  model.answer("find", { hits: [{ name: "net/undo", label: "undo", op: "Relu", inside: "" }], total: 1 });
  await settled();
  expect(found()).toEqual(["undo a step, a mark or a selection", "net/undo"]);
  key(dialog()!.querySelector("input")!, "Enter");
  await settled();
  expect(dialog()).toBe(null);
  expect(model.verbs.at(-1)).toEqual(["undo", {}]);
});

test("Ctrl+K has the keyboard before the kernel answers, and its list comes with the answer", async () => {
  item("a").focus();
  key(item("a"), "k", { ctrlKey: true });
  const input = dialog()!.querySelector("input")!,
    run = () => dialog()!.querySelector<HTMLButtonElement>(".gs-primary")!;
  expect(document.activeElement).toBe(input);
  expect([found(), run().disabled]).toEqual([[], true]);
  key(input, "i");
  input.value = "undo";
  await settled();
  expect(model.verbs.map(([verb]) => verb)).toEqual(["recipes"]);
  await type("undo");
  model.answer("recipes", []);
  model.answer("find", { hits: [], total: 0 });
  await settled();
  expect(found()).toEqual(["undo a step, a mark or a selection"]);
  expect(run().disabled).toBe(false);
});

test("a palette without a match shows this, and runs nothing", async () => {
  await openPalette();
  await type("zzz");
  expect(dialog()!.textContent).not.toContain("Nothing found.");
  model.answer("find", { hits: [], total: 0 });
  await settled();
  expect(dialog()!.textContent).toContain("Nothing found.");
  expect(dialog()!.querySelector<HTMLButtonElement>(".gs-primary")!.disabled).toBe(true);
  key(dialog()!.querySelector("input")!, "Enter");
  await settled();
  expect(dialog()).not.toBe(null);
});

test("an op of the palette is revealed", async () => {
  await openPalette();
  await type("softm");
  model.answer("find", { hits: [{ name: "net/softmax", label: "softmax", op: "Softmax", inside: "" }], total: 1 });
  await settled();
  click(host.querySelector(".gs-dialog .gs-hit")!);
  await settled();
  expect(model.verbs.at(-1)).toEqual(["reveal", { pane: "source", name: "net/softmax" }]);
});

test("the list of keys is filtered while the user types", () => {
  key(item("a"), "?");
  const signs = () => [...host.querySelectorAll(".gs-help kbd")].length;
  const all = signs();
  const input = dialog()!.querySelector("input")!;
  input.value = "paste";
  input.dispatchEvent(new Event("input", { bubbles: true }));
  expect(signs()).toBe(1);
  expect(all).toBeGreaterThan(30);
});

test("the bar at the top is one Tab stop: the arrow keys go from button to button", () => {
  const bar = host.querySelector<HTMLElement>(".gs-top")!,
    stops = () => [...bar.querySelectorAll<HTMLButtonElement>("button")].filter(b => b.tabIndex === 0);
  expect(stops().length).toBe(1);
  stops()[0]!.focus();
  key(stops()[0]!, "ArrowRight");
  expect(document.activeElement).toBe(stops()[0]);
  const second = stops()[0]!;
  key(second, "End");
  expect(stops()[0]!.getAttribute("aria-label")).toBe("Full screen (Shift+F)");
  key(stops()[0]!, "ArrowRight");
  key(stops()[0]!, "ArrowRight");
  expect(stops()[0]).toBe(second);
});
