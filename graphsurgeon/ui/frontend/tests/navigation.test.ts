import { beforeEach, expect, test, vi } from "vitest";
import { Minimap } from "../src/canvas/minimap";
import { View } from "../src/canvas/view";
import { box, edge, NO_PLAN, NO_VIEWS, scene } from "./fake";
import { choices, click, host, item, key, model, settled, start } from "./mounted";

beforeEach(() =>
  start({
    scenes: { source: scene([box("a"), box("b", { y: 100 }), box("s/")], [edge("a", "b")]), destination: null },
    views: { back: 1, forward: 0, saved: ["head"] },
  }),
);

const DETAILS = {
  title: "",
  rows: [] as [string, string][],
  inputs: [{ tensor: "x/y:1", text: "" }],
  outputs: [],
  totals: {},
  control_inputs: ["^c".slice(1)],
  consumers: ["r"],
  doc: "",
};

test("p asks which producer, n goes to the one consumer", async () => {
  item("a").focus();
  key(item("a"), "p");
  model.answer("details", DETAILS);
  await settled();
  expect(choices().map(c => c.textContent)).toEqual(["x/y", "c"]);
  choices()[0]!.click();
  expect(model.verbs.at(-1)).toEqual(["reveal", { pane: "source", name: "x/y" }]);
  item("a").focus();
  key(item("a"), "n");
  model.answer("details", DETAILS);
  await settled();
  expect(model.verbs.at(-1)).toEqual(["reveal", { pane: "source", name: "r" }]);
});

test("of many consumers the first are offered, and how many there are is said", async () => {
  item("a").focus();
  key(item("a"), "n");
  model.answer("details", { ...DETAILS, consumers: Array.from({ length: 60 }, (_, i) => `r${i}`), totals: { consumers: 1174 } });
  await settled();
  expect(choices().length).toBe(40);
  expect(host.querySelector(".gs-menu")!.textContent).toContain("Go to which consumer? The first 40 of 1,174");
});

test("n on a scope goes to what reads it, not into it", async () => {
  item("s").focus();
  key(item("s"), "n");
  model.answer("details", { ...DETAILS, outputs: [{ tensor: "s/last:0", text: "" }], consumers: ["after"] });
  await settled();
  expect(model.verbs.at(-1)).toEqual(["reveal", { pane: "source", name: "after" }]);
});

test("an op without producers says so", async () => {
  item("a").focus();
  key(item("a"), "p");
  model.answer("details", { ...DETAILS, inputs: [], totals: {}, control_inputs: [] });
  await settled();
  expect(host.querySelector(".gs-status-text")!.textContent).toBe("'a' has no producer.");
});

test("back and forward by keys and buttons, as far as there is a way", () => {
  const buttons = [...host.querySelectorAll<HTMLButtonElement>(".gs-tools button")].slice(0, 2);
  expect(buttons.map(b => b.disabled)).toEqual([false, true]);
  item("a").focus();
  key(item("a"), ",");
  buttons[0]!.click();
  expect(model.verbs).toEqual([
    ["back", {}],
    ["back", {}],
  ]);
  model.update({ views: { ...NO_VIEWS, forward: 1 } });
  expect(buttons.map(b => b.disabled)).toEqual([true, false]);
  key(item("a"), ".");
  expect(model.verbs.at(-1)).toEqual(["forward", {}]);
});

test("the list of signatures is at the top where a file has several, and asks for the one that is chosen", () => {
  const button = () => host.querySelector<HTMLButtonElement>(".gs-serves")!;
  expect(button().hidden).toBe(true);
  model.update({ views: { ...NO_VIEWS, signatures: ["double", "scale"], signature: "double" } });
  expect(button().hidden).toBe(false);
  expect(button().textContent).toContain("double");
  button().click();
  expect(choices().map(c => c.getAttribute("aria-checked"))).toEqual(["true", "false"]);
  choices()[1]!.click();
  expect(model.verbs.at(-1)).toEqual(["show_signature", { name: "scale" }]);
});

test("views are saved with the look, shown by digits, and forgotten", async () => {
  item("a").focus();
  key(item("a"), "v");
  expect(choices().map(c => c.querySelector("span")!.textContent)).toEqual(["head", "Save this view\u2026", "Delete a view\u2026"]);
  choices()[1]!.click();
  const field = host.querySelector<HTMLInputElement>(".gs-field")!;
  expect(field.value).toBe("view 2");
  field.value = "tail";
  key(field, "Enter");
  expect(model.verbs.at(-1)).toEqual(["save_view", { name: "tail", at: [expect.any(Number), expect.any(Number), expect.any(Number)] }]);
  item("a").focus();
  key(item("a"), "1");
  expect(model.verbs.at(-1)).toEqual(["show_view", { name: "head" }]);
  model.answer("show_view", [5, 6, 0.5]);
  await settled();
  expect(host.querySelector(".gs-root")!.getAttribute("transform")).toBe("translate(5.00,6.00) scale(0.5000)");
  key(item("a"), "7");
  expect(host.querySelector(".gs-status-text")!.textContent).toBe("There is no view 7. Press v to save one.");
  key(item("a"), "v");
  choices()[2]!.click();
  choices()[0]!.click();
  expect(model.verbs.at(-1)).toEqual(["delete_view", { name: "head" }]);
});

test("what is searched is marked on the boxes, with how many are inside; a wrong pattern is said", async () => {
  vi.useFakeTimers();
  const input = host.querySelector<HTMLInputElement>(".gs-search input")!;
  const type = (text: string) => {
    input.value = text;
    input.dispatchEvent(new Event("input"));
    vi.advanceTimersByTime(500);
  };
  type("op:Relu");
  model.answer("find", { hits: [{ name: "s/x", label: "x", op: "Relu", inside: "s/" }], total: 8, boxes: { "s/": 7, a: 1 } });
  vi.useRealTimers();
  await settled();
  expect([...host.querySelectorAll(".gs-hit-chip text")].map(t => t.textContent)).toEqual(["7 inside"]);
  expect([...host.querySelectorAll<SVGGElement>(".gs-hit-box")].map(g => g.dataset["name"])).toEqual(["a", "s/"]);
  vi.useFakeTimers();
  type("/(/");
  model.emit("msg:custom", {
    v: 1,
    id: model.sent.at(-1).id,
    ok: false,
    error: { request: "find('/(/')", problem: "it is not an expression", suggestion: "Escape it" },
  });
  vi.useRealTimers();
  await settled();
  expect(host.querySelector(".gs-hits-note")!.textContent).toBe("find('/(/'): it is not an expression. Escape it.");
  key(input, "Escape");
  expect(host.querySelectorAll(".gs-hit-chip").length).toBe(0);
});

test("the map is there while a part is out of sight, and goes with w", () => {
  const view = new View(() => {}),
    map = new Minimap(view, () => [600, 400]),
    big = { ...scene([box("a"), box("b", { x: 900, y: 900 })]), w: 1000, h: 1000 };
  view.moveTo(0, 0, 1);
  map.draw(big);
  expect(map.element.hidden).toBe(false);
  const seen = map.element.querySelector(".gs-map-seen")!;
  expect([...["x", "y", "width", "height"]].map(n => seen.getAttribute(n))).toEqual(["0.0", "0.0", "72.0", "48.0"]);
  view.moveTo(0, 0, 0.3);
  map.update();
  expect(map.element.hidden).toBe(true);
  view.moveTo(0, 0, 1);
  map.isWanted = false;
  map.update();
  expect(map.element.hidden).toBe(true);
});

test("what one goes to is large enough to read, also from far away", async () => {
  for (const canvas of host.querySelectorAll(".gs-canvas"))
    Object.defineProperties(canvas, { clientWidth: { value: 400 }, clientHeight: { value: 300 } });
  model.update({
    scenes: { source: { ...scene([box("a"), box("b", { y: 2900, x: 500 })]), rev: "2", w: 1000, h: 3000 }, destination: null },
  });
  const scale = () => /scale\((.*)\)/.exec(host.querySelector(".gs-root")!.getAttribute("transform")!)![1];
  item("a").focus();
  key(item("a"), "f");
  expect(Number(scale())).toBeLessThan(0.1001);
  key(item("a"), "n");
  model.answer("details", { ...DETAILS, consumers: ["b"] });
  await settled();
  model.answer("reveal", null);
  await settled();
  expect(scale()).toBe("0.7500");
});

test("a picture that has shrunk out of sight is looked at anew", () => {
  for (const canvas of host.querySelectorAll(".gs-canvas"))
    Object.defineProperties(canvas, { clientWidth: { value: 400 }, clientHeight: { value: 300 } });
  const at = () => host.querySelector(".gs-root")!.getAttribute("transform"),
    wide = (x: number, rev: string) => ({ ...scene([box("far", { x })]), rev, w: x + 100, h: 40 });
  model.update({ scenes: { source: wide(4000, "2"), destination: null } });
  const before = at();
  model.update({ scenes: { source: wide(3900, "3"), destination: null } });
  expect(at()).not.toBe(before);
  model.update({ scenes: { source: { ...scene([box("other")]), rev: "4", w: 80, h: 40 }, destination: null } });
  expect(at()).toBe("translate(160.00,130.00) scale(1.0000)");
});

test("the map and the inspector go back to the source when the pane that was looked at is gone", async () => {
  const [before, after] = [scene([box("a")]), scene([box("a"), box("copy/", { y: 100 })])];
  start({ scenes: { source: before, destination: null }, plan: NO_PLAN });
  const maps = () => [...host.querySelectorAll<HTMLElement>(".gs-dock .gs-map")].map(map => !map.hidden);
  expect(maps()).toEqual([true, false]);
  const plan = { ...NO_PLAN, steps: [{ text: "copy", muted: false }] };
  model.update({ scenes: { source: before, destination: after }, plan, selected: ["a"] });
  click(host.querySelectorAll(".gs-pane-destination .gs-item")[1]!);
  expect(maps()).toEqual([false, true]);
  model.update({ plan: NO_PLAN, scenes: { source: before, destination: null } });
  expect(maps()).toEqual([true, false]);
  await settled();
  expect(model.verbs.filter(([verb]) => verb === "details").at(-1)).toEqual(["details", { name: "a", pane: "source" }]);
});
