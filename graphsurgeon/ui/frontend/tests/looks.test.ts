// What is shown and in which colors: menus, keys, legend, and what the inspector fetches.
import { beforeEach, expect, test } from "vitest";
import { countOf } from "../src/panels/dom";
import type { Details, Legend } from "../src/model/types.generated";
import { sharedScope } from "../src/state/places";
import { box, edge, NO_DETAILS, scene } from "./fake";
import { click, drawing, host, item, key, model, settled, start } from "./mounted";

const LOOK = { shown: [], hidden: [], training: true, by: "family", name: "", faded: [], budget: 200, plan_view: "both" as const };
const press = (text: string, within = host) => {
  const found = [...within.querySelectorAll<HTMLButtonElement>("button")].find(b => (b.textContent || b.title).includes(text));
  if (!found)
    throw new Error(`no button ${text}: ${[...within.querySelectorAll("button")].map(b => b.textContent || b.title).join(" | ")}`);
  found.click();
};
const details = (more: Partial<Details>): Details => ({ ...NO_DETAILS, title: "a", ...more });

beforeEach(() => start());

test("a long label stands on two lines, and what is hidden hangs on a stub", () => {
  start({
    scenes: {
      source: scene([box("a", { label: "one/two", lines: ["one/", "two"], h: 54, hidden: { constants: 1200 } })]),
      destination: null,
    },
  });
  const labels = [...item("one/two").querySelectorAll(".gs-label")];
  expect(labels.map(l => l.textContent)).toEqual(["one/", "two"]);
  expect(Number(labels[1]!.getAttribute("y")) - Number(labels[0]!.getAttribute("y"))).toBe(14);
  expect(item("one/two").querySelector(".gs-sub")!.textContent).toBe("Relu \u00b7 1,200 hidden");
  expect(item("one/two").querySelectorAll(".gs-stub").length).toBe(2);
});

test("the view menu sets depth, gradients, helpers, hidden types and the budget", () => {
  const s = scene([box("a")]);
  s.stats.hidden = { constants: 12 };
  start({ scenes: { source: s, destination: null }, look: { ...LOOK, hidden: ["Identity"] } });
  for (const text of ["Unfold to depth 2", "Show gradients", "Show constants (12 hidden)", "Show Identity again", "Show up to 400 boxes"]) {
    press("View options");
    press(text, host.querySelector<HTMLElement>(".gs-menu")!);
  }
  expect(model.verbs).toEqual([
    ["set_depth", { depth: 2, pane: "source" }],
    ["show_training", { on: false }],
    ["show_helpers", { kind: "constants", on: true }],
    ["hide_ops", { types: [] }],
    ["set_budget", { boxes: 400 }],
  ]);
});

test("what is on is ticked, for eyes and for screen readers", () => {
  start({ look: LOOK });
  press("View options");
  const ticked = [...host.querySelectorAll(".gs-choice[aria-checked=true]")];
  expect(ticked.map(t => t.textContent)).toEqual(["\u2713 Show gradients and updatesg", "\u2713 Map of the graphw"]);
  expect(ticked[0]!.getAttribute("role")).toBe("menuitemcheckbox");
});

test("g puts gradients away and back, s opens the menu", () => {
  item("a").focus();
  key(item("a"), "g");
  model.update({ look: { ...LOOK, training: false } });
  key(item("a"), "g");
  key(item("a"), "s");
  expect(model.verbs).toEqual([
    ["show_training", { on: false }],
    ["show_training", { on: true }],
  ]);
  expect(host.querySelector(".gs-menu")!.getAttribute("aria-label")).toBe("View options");
});

test("colors come from Python, and only as colors", () => {
  press("Colors");
  press("Repeated structure", host.querySelector<HTMLElement>(".gs-menu")!);
  expect(model.verbs).toEqual([["paint", { by: "structure" }]]);
  const legend: Legend = {
    by: "values",
    title: "ms",
    items: [
      { key: "c0", text: "1 to 2", color: "#3B4CC0", boxes: 1 },
      { key: "c1", text: "2 to 3", color: "red;background:url(x)", boxes: 1 },
    ],
    faded: [],
  };
  const boxes = [
    box("a", {
      paint: {
        key: "c0",
        color: "#3B4CC0",
        bars: [
          ["#3B4CC0", 0.5],
          ["javascript:1", 0.5],
        ],
        text: "1.5 ms",
      },
    }),
    box("b", { y: 100, paint: { key: "c1", color: "red;background:url(x)", bars: [], text: "" } }),
  ];
  model.update({ scenes: { source: { ...scene(boxes, [edge("a", "b")]), legend }, destination: null } });
  expect(item("a").style.getPropertyValue("--gs-hue")).toBe("#3B4CC0");
  expect(item("b").style.getPropertyValue("--gs-hue")).toBe("#8a93a0");
  expect([...item("a").querySelectorAll(".gs-bar")].map(r => r.getAttribute("fill"))).toEqual(["#3B4CC0", "#8a93a0"]);
  expect(item("a").getAttribute("aria-label")).toContain("1.5 ms");
  expect([...host.querySelectorAll(".gs-legend-entry")].map(e => e.textContent)).toEqual(["1 to 2", "2 to 3"]);
  expect(host.querySelector(".gs-legend-title")!.textContent).toBe("ms");
});

test("the legend filters: its boxes and their edges fade at once, and come back", async () => {
  const s = scene([box("a", { family: "math" }), box("b", { y: 100 })], [edge("a", "b")]);
  const items = [
    { key: "activation", text: "activation", color: "#C0794A", boxes: 1 },
    { key: "math", text: "arithmetic", color: "#8A6DB3", boxes: 1 },
  ];
  const legend = (faded: string[]): Legend => ({ by: "family", title: "", items, faded });
  start({ scenes: { source: { ...s, legend: legend([]) }, destination: null } });
  expect([...host.querySelectorAll(".gs-legend-entry")].map(e => e.textContent)).toEqual(["activation", "arithmetic"]);
  press("arithmetic", host.querySelector<HTMLElement>(".gs-legend")!);
  expect(item("a").classList.contains("gs-faded")).toBe(true);
  expect(item("b").classList.contains("gs-faded")).toBe(false);
  expect(host.querySelector(".gs-edge")!.classList.contains("gs-faded")).toBe(true);
  expect(model.verbs).toEqual([["fade", { keys: ["math"] }]]);
  model.update({ scenes: { source: { ...s, legend: legend(["math"]) }, destination: null } });
  model.answer("fade");
  await settled();
  expect(item("a").classList.contains("gs-faded")).toBe(true);
  expect(host.querySelector(".gs-legend-entry[aria-pressed=false]")!.textContent).toBe("arithmetic");
  press("arithmetic", host.querySelector<HTMLElement>(".gs-legend")!);
  expect(item("a").classList.contains("gs-faded")).toBe(false);
  expect(model.verbs.at(-1)).toEqual(["fade", { keys: [] }]);
});

test("a value is fetched when asked for, never by itself", async () => {
  item("a").dispatchEvent(new MouseEvent("click", { bubbles: true }));
  model.answer("details", details({ value: true, python: "ed.op('a')" }));
  await settled();
  expect(model.verbs.some(([verb]) => verb === "value")).toBe(false);
  press("Fetch the value");
  model.answer("value", { rows: [["value", "float32 (2,), 8 B"]], histogram: { counts: [1, 3], low: -1, high: 2 } });
  await settled();
  expect(host.querySelector(".gs-value")!.textContent).toContain("float32 (2,), 8 B");
  expect(document.activeElement).toBe(host.querySelector(".gs-value"));
  expect(host.querySelectorAll(".gs-histogram rect").length).toBe(2);
  expect(host.querySelector(".gs-histogram")!.getAttribute("aria-label")).toBe("histogram from -1.000 to 2.000");
});

test("a call is an op that opens: it unfolds in place, its output can be marked, it stands on two sheets", () => {
  model.update({
    scenes: { source: { ...scene([box("a", { kind: "call", outputs: 1, subtitle: "call of f, 3 ops" })]), rev: "9" }, destination: null },
  });
  const call = item("a");
  expect(call.getAttribute("aria-expanded")).toBe("false");
  expect(call.querySelectorAll(".gs-sheet").length).toBe(1);
  call.dispatchEvent(new MouseEvent("dblclick", { bubbles: true }));
  expect(model.verbs.at(-1)).toEqual(["unfold", { pane: "source", name: "a" }]);
  call.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  key(item("a"), "Enter");
  expect(model.verbs.at(-1)).toEqual(["unfold", { pane: "source", name: "a" }]);
  key(item("a"), "i");
  expect(model.verbs.at(-1)).toEqual(["mark_input", { tensor: "a:0" }]);
});

test("a list of the inspector counts what there is, not what came", async () => {
  item("a").dispatchEvent(new MouseEvent("click", { bubbles: true }));
  model.answer("details", details({ consumers: Array.from({ length: 60 }, (_, i) => `r${i}`), totals: { consumers: 1174 } }));
  await settled();
  const list = host.querySelector(".gs-inspect-list")!;
  expect(list.querySelector("h4")!.textContent).toBe("Consumers1,174");
  expect(list.querySelectorAll(".gs-link").length).toBe(60);
  expect(list.textContent).toContain("and 1,114 more");
});

test("a folded block is headed by its name, not by its key, from the first moment", async () => {
  start({ scenes: { source: scene([box("~net/block_[0..3]/", { kind: "series", label: "block_[0..3]" })]), destination: null } });
  const title = () => host.querySelector(".gs-inspect-title")!.textContent;
  item("block_[0..3]").dispatchEvent(new MouseEvent("click", { bubbles: true }));
  expect(title()).toBe("net/block_[0..3]");
  model.answer("details", details({ title: "net/block_[0..3]" }));
  await settled();
  expect(title()).toBe("net/block_[0..3]");
  expect(host.querySelector(".gs-inspect-head .gs-type")).toBeNull();
});

test("several that are selected are listed without the scopes that all of them are in", () => {
  const names = ["call/call/net/act/Relu", "call/call/net/act_1/Relu", "call/call/net/conv/"];
  expect(sharedScope(names)).toBe("call/call/net/");
  expect([sharedScope(["a/b", "c/d"]), sharedScope(["a/b/"]), sharedScope(["a/b", "a/b/c"]), sharedScope([])]).toEqual([
    "",
    "a/",
    "a/",
    "",
  ]);
  start({ scenes: { source: scene(names.map(name => box(name))), destination: null } });
  model.update({ selected: names });
  const links = [...host.querySelectorAll<HTMLElement>(".gs-inspector .gs-link")];
  expect(links.map(link => [link.textContent, link.title])).toEqual([
    ["\u2026/act/Relu", names[0]],
    ["\u2026/act_1/Relu", names[1]],
    ["\u2026/conv/", names[2]],
  ]);
});

test("an edge names its ends and tells dtype and shape of its tensors", async () => {
  start({ scenes: { source: scene([box("a"), box("b")], [edge("a", "b")]), destination: null } });
  click(drawing());
  expect(model.verbs.at(-1)).toEqual(["edge_tensors", { source: "a", target: "b", control: false, pane: "source" }]);
  model.answer("edge_tensors", { tensors: [{ tensor: "a:0", text: "float32 (2,)" }], values: [] });
  await settled();
  const said = host.querySelector(".gs-inspector")!;
  expect(said.querySelector(".gs-doc")!.textContent).toBe("a \u2192 b");
  expect([...said.querySelectorAll(".gs-tensor")].map(t => t.textContent)).toEqual(["a:0float32 (2,)"]);
});

test("what is hidden is counted in words, one or many", () => {
  expect(
    [
      [1, "constants"],
      [2, "constants"],
      [1, "summaries"],
      [1, "no-ops"],
      [1, "edges of gradients"],
      [1200, "saving ops"],
    ].map(([n, what]) => `${countOf(n as number, what as string)} hidden`),
  ).toEqual([
    "1 constant hidden",
    "2 constants hidden",
    "1 summary hidden",
    "1 no-op hidden",
    "1 edge of gradients hidden",
    "1,200 saving ops hidden",
  ]);
  start({ scenes: { source: scene([box("a", { hidden: { constants: 1 } })]), destination: null } });
  expect(item("a").getAttribute("aria-label")).toContain("1 constant hidden");
});
