// @vitest-environment jsdom
import { expect, test } from "vitest";
import { box, edge, NO_BOUNDARY, NO_PLAN, scene } from "./fake";
import { SelectionBar } from "../src/canvas/selection_bar";
import { View } from "../src/canvas/view";
import { click, drawing, host, item, model, settled, start } from "./mounted";

const bar = (pane = "source") => host.querySelector<HTMLElement>(`.gs-pane-${pane} .gs-selection-bar`)!;
const texts = (pane?: string) => [...bar(pane).querySelectorAll("button")].map(b => b.textContent);
const press = (text: string) => click([...bar().querySelectorAll("button")].find(b => b.textContent === text)!);
const last = () => model.verbs.at(-1);

function open(more = {}): void {
  const boxes = [box("a/b"), box("s/", { kind: "scope" }), box("c")];
  start({ scenes: { source: scene(boxes, [edge("a/b", "c")]), destination: null }, ...more });
}

test("the bar at the selection has what can be done with it", () => {
  open();
  expect(bar().hidden).toBe(true);
  click(item("a/b"));
  expect(bar().hidden).toBe(false);
  expect(texts()).toEqual([
    "Copy\u2026",
    "Mark boundary",
    "Insert op\u2026",
    "Replace similar\u2026",
    "Remove",
    "Rename\u2026",
    "More\u2026",
  ]);
  click(item("s/"));
  expect(texts()).toEqual(["Unfold", "Copy\u2026", "Mark boundary", "Replace similar\u2026", "Remove", "Rename\u2026", "More\u2026"]);
  click(item("c"), { ctrlKey: true });
  expect(texts()).toEqual(["Copy\u2026", "Mark boundary", "Replace similar\u2026", "Remove", "More\u2026"]);
  press("Remove");
  expect(last()).toEqual(["remove", { names: ["s/", "c"], stitch: true }]);
});

test("a rename begins with the last part of the name", () => {
  open();
  click(item("a/b"));
  press("Rename\u2026");
  const { value, selectionStart, selectionEnd } = host.querySelector<HTMLInputElement>(".gs-dialog input")!;
  expect([value, selectionStart, selectionEnd]).toEqual(["a/b", 2, 3]);
});

test("its actions are those of the current selection", () => {
  open();
  click(item("a/b"));
  click(item("c"));
  press("Remove");
  expect(last()).toEqual(["remove", { names: ["c"], stitch: true }]);
});

test("with a boundary, it copies the region", () => {
  open({ boundary: { ...NO_BOUNDARY, ops: 3 } });
  click(item("a/b"));
  expect(texts()[0]).toBe("Copy region\u2026");
});

test("an edge has a bar too", async () => {
  open();
  click(drawing());
  await settled();
  expect(texts()).toEqual(["Insert op\u2026", "More\u2026"]);
  click(item("c"));
  expect(texts()).toContain("Rename\u2026");
});

test("it is hidden while a box is asked for, and where nothing can be edited", () => {
  open();
  click(item("a/b"));
  press("More\u2026");
  click([...host.querySelectorAll<HTMLElement>(".gs-choice")].find(c => c.textContent!.startsWith("Connect from here"))!);
  expect(bar().hidden).toBe(true);
  open({ still: true, answers: ["select"] });
  click(item("a/b"));
  expect(bar().hidden).toBe(true);
});

test("in the source of two graphs, what would edit it is off", () => {
  open({ plan: { ...NO_PLAN, same: false } });
  click(item("a/b"));
  const off = [...bar().querySelectorAll<HTMLButtonElement>("button:disabled")].map(b => b.textContent);
  expect(off).toEqual(["Insert op\u2026", "Replace similar\u2026", "Remove", "Rename\u2026"]);
});

test("it covers no box: without a free place it is not shown", () => {
  open();
  for (const canvas of host.querySelectorAll(".gs-canvas"))
    Object.defineProperties(canvas, { clientWidth: { value: 400 }, clientHeight: { value: 300 } });
  Object.defineProperties(bar(), { offsetWidth: { value: 200 }, offsetHeight: { value: 26 } });
  const wide = (w: number, h: number) => ({ ...scene([box("a/b", { w, h })]), rev: `${w}`, w, h });
  model.update({ scenes: { source: wide(390, 2000), destination: null } });
  click(item("a/b"));
  expect(bar().style.visibility).toBe("hidden");
  model.update({ scenes: { source: wide(60, 30), destination: null } });
  expect(bar().style.visibility).toBe("");
});

test("between other boxes, it is at the nearest free place", () => {
  const selection = new SelectionBar(),
    view = new View(() => {}),
    at = (x: number, y: number, w: number) => box(`${x} ${y}`, { x, y, w, h: 30 });
  Object.defineProperties(selection.element, { offsetWidth: { value: 200 }, offsetHeight: { value: 26 } });
  // a row of boxes at the selection, and rows above and below it
  const boxes = [at(250, 440, 100), at(0, 440, 240), at(360, 440, 240), at(100, 400, 400), at(100, 480, 400)];
  view.moveTo(0, 0, 1);
  selection.offer(boxes[0]!, [{ text: "Remove", run: () => {} }]);
  selection.place(scene(boxes), view, [600, 900]);
  const [x, y] = selection.element.style.transform.match(/\d+/g)!.map(Number);
  expect([x! > 50 && x! < 350, y! > 340 && y! < 540]).toEqual([true, true]);
});

test("without a free place nearby, it is at the bottom of the pane, but not on the map", () => {
  const selection = new SelectionBar(),
    view = new View(() => {}),
    at = (y: number, h: number) => box(`${y}`, { x: 0, y, w: 600, h });
  Object.defineProperties(selection.element, { offsetWidth: { value: 200 }, offsetHeight: { value: 26 } });
  const boxes = [at(100, 30), at(0, 95), at(135, 500)];
  view.moveTo(0, 0, 1);
  selection.offer(boxes[0]!, [{ text: "Remove", run: () => {} }]);
  selection.place(scene(boxes), view, [600, 900]);
  expect([selection.element.style.visibility, selection.element.style.transform]).toEqual(["", "translate(200px,864px)"]);
  selection.place(scene(boxes), view, [600, 900], { x: 300, y: 800, w: 150, h: 100 });
  expect(selection.element.style.transform).toBe("translate(10px,864px)");
  selection.place(scene([...boxes, at(635, 300)]), view, [600, 900]);
  expect(selection.element.style.visibility).toBe("hidden");
});
