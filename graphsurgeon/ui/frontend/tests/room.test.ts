// @vitest-environment jsdom
import { beforeEach, expect, test } from "vitest";
import { Drawing } from "../src/canvas/scene";
import { Minimap } from "../src/canvas/minimap";
import { Overlay } from "../src/canvas/overlay";
import { Pane, type PaneEvents } from "../src/canvas/pane";
import { View } from "../src/canvas/view";
import { box, group, NO_BOUNDARY, NO_PLAN, scene, tensorRow } from "./fake";
import { click, host, item, key, model, settled, start } from "./mounted";

beforeEach(() => {
  localStorage.clear();
});

const root = () => host.querySelector<HTMLElement>(".gs")!,
  grip = () => host.querySelector<HTMLElement>(".gs-grip")!,
  button = (name: string) => [...host.querySelectorAll<HTMLElement>(".gs-button")].find(b => b.getAttribute("aria-label") === name)!;

test("the height is chosen by keys and by dragging, is remembered, and is as it was after a double click", () => {
  start();
  expect(root().style.height).toBe("");
  Object.defineProperty(root(), "offsetHeight", { configurable: true, get: () => parseInt(root().style.height) || 600 });
  key(grip(), "ArrowDown");
  expect(root().style.height).toBe("640px");
  for (const [name, y] of Object.entries({ pointerdown: 100, pointermove: 220, pointerup: 220 }))
    grip().dispatchEvent(new MouseEvent(name, { clientY: y }));
  expect(root().style.height).toBe("760px");
  expect(localStorage.getItem("graphsurgeon.height")).toBe("760");
  const first = host;
  start();
  expect(root().style.height).toBe("760px");
  grip().dispatchEvent(new MouseEvent("dblclick"));
  expect([root().style.height, localStorage.getItem("graphsurgeon.height")]).toEqual(["", null]);
  first.remove();
});

test("a page of its own keeps its own height", () => {
  localStorage.setItem("graphsurgeon.height", "700");
  start({ still: true });
  expect(root().style.height).toBe("");
});

test("a key and a button take the full window and give it back; Esc gives it back when nothing is selected", async () => {
  start();
  item("a").focus();
  key(item("a"), "F", { shiftKey: true });
  expect(root().classList.contains("gs-full")).toBe(true);
  expect(button("Full screen (Shift+F)").getAttribute("aria-pressed")).toBe("true");
  expect(document.activeElement).toBe(item("a"));
  model.update({ selected: ["a"] });
  model.answer("details", null);
  await settled();
  key(item("a"), "Escape");
  expect(root().classList.contains("gs-full")).toBe(true);
  model.update({ selected: [] });
  model.answer("select", null);
  await settled();
  key(item("a"), "Escape");
  expect(root().classList.contains("gs-full")).toBe(false);
  click(button("Full screen (Shift+F)"));
  click(button("Full screen (Shift+F)"));
  expect(root().hasAttribute("popover")).toBe(false);
});

test("outline, plan bar and inspector are folded away and come back", () => {
  start();
  for (const name of ["Outline", "Plan", "Inspector"]) {
    click(button(name));
    expect(root().classList.contains(`gs-no-${name.toLowerCase()}`)).toBe(true);
    click(button(name));
    expect(root().classList.contains(`gs-no-${name.toLowerCase()}`)).toBe(false);
  }
});

test("one pane of two is seen alone, and both again", () => {
  start({ scenes: { source: scene([box("a")]), destination: scene([box("a"), box("b")]) } });
  const alone = () => host.querySelectorAll<HTMLElement>(".gs-pane-title button")[1]!;
  click(alone());
  expect([root().classList.contains("gs-alone"), root().dataset.pane]).toEqual([true, "destination"]);
  expect(alone().getAttribute("aria-pressed")).toBe("true");
  click(alone());
  expect(root().classList.contains("gs-alone")).toBe(false);
});

test("the map lies in a corner where no box is, and nowhere where there is none; below the outline it covers nothing", () => {
  const view = new View(() => {}),
    map = new Minimap(view, () => [600, 400]),
    pane = document.createElement("div"),
    dock = document.createElement("div"),
    at = (...all: [number, number][]) => ({ ...scene(all.map(([x, y], i) => box(`b${i}`, { x, y }))), w: 1000, h: 1000 });
  dock.className = "gs-dock";
  map.dockIn(pane);
  view.moveTo(0, 0, 1);
  map.draw(at([0, 0]));
  expect([map.element.hidden, map.element.dataset.corner]).toEqual([false, "bottom right"]);
  map.draw(at([520, 350]));
  expect([map.element.hidden, map.element.dataset.corner]).toEqual([false, "bottom left"]);
  map.draw(at([520, 350], [40, 350], [500, 30], [40, 30]));
  expect(map.element.hidden).toBe(true);
  map.dockIn(dock);
  expect(map.element.hidden).toBe(true); // of the pane that is not the active one
  map.setActive(true);
  expect(map.element.hidden).toBe(false);
  map.element.querySelector("button")!.click();
  expect([map.element.hidden, map.isWanted]).toEqual([true, false]);
});

test("from far away the names that have room are shown, at one size", () => {
  const d = new Drawing(),
    names = () => [...d.root.querySelectorAll<SVGElement>(".gs-layer-far text")].map(t => [t.textContent, t.style.fontSize]);
  d.draw(scene([box("net/a", { x: 10, y: 10 }), box("net/b", { x: 10, y: 60 }), box("far", { x: 900, y: 900 })], [], [group("net/")]));
  expect(names()).toEqual([]);
  d.far(0.2);
  expect(names()).toEqual([
    ["net/", "60px"],
    ["far", "60px"],
  ]);
  d.far(0);
  expect(names()).toEqual([]);
});

test("the row of the boundary does not move the picture; a higher panel does, if it would cover boxes", () => {
  const pane = new Pane("source", { move: () => {} } as unknown as PaneEvents, new Overlay()),
    high = (clientHeight: number) => {
      Object.defineProperties(pane.canvas, {
        clientWidth: { configurable: true, value: 400 },
        clientHeight: { configurable: true, value: clientHeight },
      });
      pane.updateSize();
      return pane.camera.y;
    };
  pane.update(scene([box("a", { y: 100 }), box("b", { y: 250 })]), "");
  const at = high(400);
  pane.view.pan(0, 395 - (290 + at));
  const { y } = pane.camera;
  expect([high(360), high(400)]).toEqual([y, y]);
  expect([high(360), high(300) < y, high(400)]).toEqual([y, true, y]);
});

test("boxes move from where they stood, over the pan that keeps the clicked one in its place", () => {
  const d = new Drawing(),
    moves: [string, unknown][] = [];
  d.draw(scene([box("a"), box("b", { x: 100 })]));
  const stood = d.positions();
  d.draw(scene([box("a", { x: 40 }), box("b", { x: 100 }), box("c", { x: 200 })]));
  for (const [key, { g }] of d.items)
    g.animate = ((frames: Keyframe[]) => moves.push([key, frames[0]!["transform"] ?? frames[0]!["opacity"]])) as never;
  d.moveFrom(stood, { x: 0, y: 0, k: 1 }, { x: -40, y: 0, k: 1 }, () => true);
  expect(moves).toEqual([
    ["b", "translate(140px,0px)"],
    ["c", 0],
  ]);
});

const PLAN = { ...NO_PLAN, steps: [{ text: "rename a", muted: false }], code: "plan = ed.plan()", ready: true },
  tab = (text: string) => [...host.querySelectorAll<HTMLElement>('[role="tab"]')].find(t => t.textContent!.startsWith(text));

test("each tab of the plan begins at its top", () => {
  start({ plan: PLAN });
  const panel = () => host.querySelector<HTMLElement>(".gs-panel")!;
  click(tab("Code")!);
  panel().scrollTop = 50;
  model.update({ plan: { ...PLAN } });
  expect(panel().scrollTop).toBe(50);
  click(tab("Steps")!);
  expect(panel().scrollTop).toBe(0);
});

test("without its kernel a plan cannot be applied, and is shown as code", () => {
  start();
  model.update({ plan: PLAN });
  const apply = () => host.querySelector<HTMLButtonElement>(".gs-primary")!;
  expect(apply().disabled).toBe(false);
  model.emit("comm:close", undefined);
  expect(apply().disabled).toBe(true);
  expect(tab("Code")!.getAttribute("aria-selected")).toBe("true");
  expect(host.querySelector(".gs-code")!.textContent).toContain("The kernel stopped. Copy this code");
  expect(host.querySelector(".gs-code pre")!.textContent).toBe("plan = ed.plan()");
});

test("the history is a strip: each step can be stood at, and what was taken back is ahead", () => {
  start();
  expect(tab("History")).toBe(undefined);
  const step = (n: number, ahead = false) => ({ step: n, text: `copy ${n}`, ahead });
  model.update({ plan: { ...NO_PLAN, history: [step(1), step(3, true)] } });
  expect(tab("History")!.textContent).toBe("History2");
  click(tab("History")!);
  const strip = () => [...host.querySelectorAll<HTMLElement>('[aria-label="History"] button')];
  expect(strip().map(b => [b.textContent, b.getAttribute("aria-pressed")])).toEqual([
    ["Opened", "false"],
    ["copy 1", "true"],
    ["copy 3", "false"],
  ]);
  strip()[2]!.focus();
  click(strip()[2]!);
  expect(model.sent.at(-1)).toMatchObject({ verb: "go_to_step", args: { step: 3 } });
  model.update({ plan: { ...NO_PLAN, history: [step(1), step(3)] } });
  expect(strip()[2]!.getAttribute("aria-pressed")).toBe("true");
  expect(document.activeElement).toBe(strip()[2]);
  click(strip()[0]!);
  expect(model.sent.at(-1)).toMatchObject({ verb: "go_to_step", args: { step: 0 } });
});

test("without a plan, the code of the applied plans is shown at once", async () => {
  start();
  model.update({ plan: { ...NO_PLAN, history: [{ step: 1, text: "copy 1", ahead: false }] } });
  click(tab("Code")!);
  expect(model.sent.at(-1)).toMatchObject({ verb: "history_code" });
  model.answer("history_code", { code: "def redo(): ..." });
  await settled();
  expect(host.querySelector(".gs-code pre")!.textContent).toBe("def redo(): ...");
  const { length } = model.sent;
  model.update({ boundary: { ...NO_BOUNDARY } });
  await settled();
  expect(host.querySelector(".gs-code pre")!.textContent).toBe("def redo(): ...");
  expect(model.sent.length).toBe(length); // the code is only requested again after the history has changed
});

test("tabs and lists say how many there are, not how many came", () => {
  const row = { step: 0, name: "v", original: "v", dtype: "float32", shape: "(2,)", size: "8 bytes", policy: "copy", values: "" };
  start();
  model.update({ plan: { ...PLAN, variables: [row, row], rows: 376, counts: { ...NO_PLAN.counts, ops: 900, connections: 300 } } });
  expect(tab("Variables")!.textContent).toBe("Variables376");
  click(tab("Variables")!);
  expect(host.querySelector(".gs-panel")!.textContent).toContain("and 374 more");
  click(tab("New ops")!);
  model.update({ boundary: { ...model.get("boundary"), inputs: [tensorRow("a:0", "a:0")], ops: 5, leak_count: 231, leaks: [] } });
  expect(host.querySelector(".gs-tag-leak")!.textContent).toContain("231 leaks");
});

test("what a region waits for has its choices as buttons, and what a plan makes takes another name in its row", () => {
  const waits = { ...NO_BOUNDARY, ops: 2, leaked: 1, control_leaks: [{ tensor: "done", text: "y must run after done" }] },
    held = () => [...host.querySelectorAll<HTMLElement>(".gs-panel li .gs-button")].map(b => b.textContent);
  start({ boundary: waits, plan: { ...NO_PLAN, same: true } });
  click(tab("Boundary")!);
  expect(held()).toEqual(["Also copy it", "Copy, with these control inputs", "Copy, without control inputs"]);
  click(button("Also copy it: done"));
  expect(model.verbs.at(-1)).toEqual(["include", { tensor: "^done" }]);
  click([...host.querySelectorAll(".gs-panel .gs-button")].find(b => b.textContent === "Copy, without control inputs")!);
  expect(model.verbs.at(-1)).toEqual(["copy", { to: null, unmapped: "placeholder", control: "drop" }]);
  model.update({ plan: { ...NO_PLAN, same: false } }); // no op of another graph can be waited for
  expect(held()).toEqual(["Also copy it", "Copy, without control inputs"]);

  const row = (name: string, policy: string) => ({
    step: 0,
    name,
    original: "v",
    dtype: "float32",
    shape: "(2,)",
    size: "8 bytes",
    policy,
    values: "",
  });
  model.update({ plan: { ...PLAN, rows: 2, variables: [row("t/v", "copy"), row("v", "share")] } });
  click(tab("Variables")!);
  const names = [...host.querySelectorAll<HTMLInputElement>(".gs-panel .gs-as-text")];
  expect(names.map(n => n.value)).toEqual(["t/v"]); // one that is shared keeps its name
  names[0]!.value = "t/mine";
  key(names[0]!, "Enter");
  expect(model.verbs.at(-1)).toEqual(["rename", { old: "t/v", to: "t/mine" }]);
});

test("without a boundary and a plan, the bar has neither a row nor tabs", async () => {
  start();
  const row = () => host.querySelector<HTMLElement>(".gs-plan-row")!,
    tabs = () => [...host.querySelectorAll(".gs-tabs [role=tab]")].map(tab => tab.textContent);
  expect([row().hidden, tabs()]).toEqual([true, []]);
  const copy = () => [...host.querySelectorAll<HTMLElement>(".gs-foot button")].find(b => b.textContent === "Copy to scope\u2026")!;
  expect(copy().hidden).toBe(true);
  model.update({ selected: ["a"] });
  expect([row().hidden, tabs(), copy().hidden, !!copy().closest(".gs-doing")]).toEqual([true, [], false, true]);
  key(item("a"), "b");
  expect(host.querySelector(".gs-status-text")!.textContent).toBe("No tensor is marked: press i or o on an op.");
  model.update({ boundary: { ...NO_BOUNDARY, inputs: [tensorRow("a:0", "")] } });
  expect([row().hidden, tabs()]).toEqual([false, ["Boundary1"]]);
  expect(row().contains(copy())).toBe(true);
  // the focus does not stay in a row that has gone
  key(item("a"), "b");
  host.querySelector<HTMLElement>(".gs-tabs [role=tab]")!.focus();
  model.update({ boundary: NO_BOUNDARY });
  expect([row().hidden, tabs()]).toEqual([true, []]);
  expect(document.activeElement).toBe(item("a"));
});

test("at the bottom the order of Tab is that of the screen: without a plan, the tabs are in the last line", () => {
  const order = () =>
      [...host.querySelectorAll(".gs-foot :is(.gs-plan-row, .gs-tabs, .gs-panel, .gs-status, .gs-doing)")].map(
        e => e.className.split(" ")[0],
      ),
    last = ["gs-status", "gs-row"];
  start();
  const past = { history: [{ step: 1, text: "copy 1", ahead: false }] };
  model.update({ plan: { ...NO_PLAN, ...past } });
  expect(order()).toEqual(["gs-plan-row", "gs-panel", "gs-tabs", ...last]);
  click(tab("History")!);
  tab("History")!.focus();
  model.update({ plan: { ...PLAN, ...past } });
  expect(order()).toEqual(["gs-plan-row", "gs-tabs", "gs-panel", ...last]);
  expect(document.activeElement).toBe(tab("History"));
});

test("the focus goes with the picture from before the plan to after it", () => {
  start({ scenes: { source: scene([box("a")]), destination: scene([box("a"), box("b")]) }, plan: { ...PLAN, same: true } });
  const pane = () => document.activeElement!.closest<HTMLElement>(".gs-pane")!.getAttribute("aria-label");
  item("a").focus();
  // before, after, both, and before again
  const shown = ["source", "destination", "destination", "source"].map(() => (key(document.activeElement!, "d"), pane()));
  expect(shown).toEqual(["source", "destination", "destination", "source"]);
});
