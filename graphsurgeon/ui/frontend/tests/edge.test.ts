// @vitest-environment jsdom
import { expect, test } from "vitest";
import { box, edge, NO_PLAN, scene } from "./fake";
import { choices, click, drawing, host, item, key, model, settled, start } from "./mounted";

const menu = (clientX = 0) => drawing().dispatchEvent(new MouseEvent("contextmenu", { bubbles: true, cancelable: true, clientX }));
const title = () => host.querySelector(".gs-popup-title")!.textContent;
const choose = (text: string) => click(choices().find(c => c.textContent!.startsWith(text))!);
const field = () => host.querySelector<HTMLInputElement>(".gs-dialog input")!;

function open(more = {}): void {
  const of = { tensor: "net/conv/Relu:0" };
  start({ scenes: { source: scene([box("a"), box("s/"), box("c")], [edge("a", "s/", of), edge("a", "c")]), destination: null }, ...more });
}

test("the menu of an edge names its tensor and edits the connection alone", async () => {
  open();
  menu();
  expect(title()).toBe("net/conv/Relu:0");
  expect(host.querySelector(".gs-inspect-title")!.textContent).toBe("net/conv/Relu:0");
  choose("Insert op");
  field().value = "Relu6";
  key(field(), "Enter");
  const args = { op: "Relu6", on: "net/conv/Relu:0", name: null, only: ["s/"] };
  await settled();
  model.answer("op_types", []);
  await settled();
  expect(model.verbs.at(-1)).toEqual(["insert", args]);
});

test("an edge is cut, and its tensor marked, from its menu", () => {
  open();
  menu();
  choose("Cut");
  expect(model.verbs.at(-1)).toEqual(["detach", { names: ["net/conv/Relu"], side: "outputs" }]);
  menu();
  choose("Mark as boundary input");
  expect(model.verbs.at(-1)).toEqual(["mark_input", { tensor: "net/conv/Relu:0" }]);
  menu();
  choose("Mark as boundary output");
  expect(model.verbs.at(-1)).toEqual(["mark_output", { tensor: "net/conv/Relu:0" }]);
});

test("one connection is rerouted to the tensor of another op", () => {
  open();
  menu();
  choose("Reroute");
  expect(item("a").classList.contains("gs-armed")).toBe(true);
  item("c").focus();
  key(item("c"), "r");
  expect(model.verbs.at(-1)).toEqual(["reroute", { old: "net/conv/Relu:0", to: "c:0", only: ["s/"] }]);
});

test("a click chooses the other end of a reroute; a banner shows this until then, and other clicks do nothing", async () => {
  const of = { tensor: "net/conv/Relu:0" },
    boxes = [box("a"), box("s/"), box("c"), box("end", { outputs: 0 })];
  start({ scenes: { source: scene(boxes, [edge("a", "s/", of)]), destination: null } });
  const banner = () => host.querySelector<HTMLElement>(".gs-lens:not([hidden])")?.textContent;
  menu();
  choose("Reroute");
  const ask = "net/conv/Relu:0: click the op whose output they should read. Esc cancels.";
  expect([banner(), !!host.querySelector(".gs-picking")]).toEqual([ask, true]);
  expect([...host.querySelectorAll(".gs-no-pick")].map(e => e.getAttribute("data-name"))).toEqual(["end"]);
  const before = model.verbs.length;
  click(drawing(), { clientX: 500 }); // an empty place
  expect([banner(), model.verbs.length]).toEqual([ask, before]);
  click(item("c"));
  model.answer("details", { outputs: [{ tensor: "c:0", text: "" }] });
  await settled();
  expect(model.verbs.at(-1)).toEqual(["reroute", { old: "net/conv/Relu:0", to: "c:0", only: ["s/"] }]);
  expect([banner(), host.querySelector(".gs-picking, .gs-no-pick, .gs-armed")]).toEqual([undefined, null]);
  menu();
  choose("Reroute");
  click(host.querySelector(".gs-lens button")!);
  expect([banner(), host.querySelector(".gs-picking, .gs-no-pick, .gs-armed")]).toEqual([undefined, null]);
});

test("an op to run first is chosen by a click too, and scopes are faded", () => {
  open();
  click(item("c"));
  key(item("c"), "e");
  choose("Run it after");
  expect([...host.querySelectorAll(".gs-no-pick")].map(e => e.getAttribute("data-name"))).toEqual(["s/"]);
  click(item("s/"));
  expect(host.querySelector(".gs-status-text")!.textContent).toBe("Choose an op: unfold the scope (Enter).");
  click(item("a"));
  expect(model.verbs.at(-1)).toEqual(["add_control", { op: "c", after: "a" }]);
});

test("of an edge that stands for several tensors one is chosen first", async () => {
  const of = { count: 2, tensor: "x:0" };
  start({ scenes: { source: scene([box("a"), box("b")], [edge("a", "b", of)]), destination: null } });
  menu();
  const tensors = [
    { tensor: "x:0", text: "float32 (2,)" },
    { tensor: "x:1", text: "" },
  ];
  model.answer("edge_tensors", { tensors, values: [] });
  await settled();
  expect(title()).toBe("2 tensors");
  expect(choices().map(c => c.textContent)).toEqual(["x:0  float32 (2,)", "x:1"]);
  choose("x:1");
  expect(title()).toBe("x:1");
});

test("a control edge is removed from its menu, if it stands for one", () => {
  const of = { control: true, tensor: "^a" };
  start({
    scenes: {
      source: scene([box("a"), box("b"), box("s/")], [edge("a", "b", of), edge("a", "s/", { ...of, line: "50,0C50,10 50,20 50,30" })]),
      destination: null,
    },
  });
  menu();
  expect(title()).toBe("Control edge from a");
  choose("Remove");
  expect(model.verbs.at(-1)).toEqual(["remove_control", { op: "b", after: "a" }]);
  menu(50);
  expect((choices()[0] as HTMLButtonElement).disabled).toBe(true);
});

test("where nothing can be edited, the menu goes to the ends of the edge", () => {
  open({ plan: { ...NO_PLAN, same: false } });
  menu();
  const on = () => choices().filter(c => !(c as HTMLButtonElement).disabled);
  expect(on().map(c => c.textContent)).toEqual([
    "Mark as boundary inputi",
    "Mark as boundary outputo",
    "Go to its producer",
    "Go to its consumer",
  ]);
  click(on().at(-1)!);
  expect(model.verbs.at(-1)).toEqual(["reveal", { pane: "source", name: "s/" }]);
  open({ still: true, answers: ["reveal"] });
  menu();
  expect(on().map(c => c.textContent)).toEqual(["Go to its producer", "Go to its consumer"]);
});

test("the key of the menu is about the edge that was clicked", () => {
  open();
  click(drawing());
  key(item("a"), "ContextMenu");
  expect(title()).toBe("net/conv/Relu:0");
});

test("the button on the edge at the pointer inserts an op there", () => {
  open();
  drawing().dispatchEvent(new MouseEvent("pointermove", { bubbles: true }));
  const plus = host.querySelector(".gs-plus")!;
  // the space between the edge and the button is blank for a click
  click(plus.querySelector("rect")!, { clientX: 500 });
  expect(host.querySelector(".gs-popup-title, .gs-chosen")).toBe(null);
  click(plus.querySelector("path")!);
  expect(title()).toBe("Insert op between net/conv/Relu:0 and s/");
  drawing().dispatchEvent(new MouseEvent("pointermove", { bubbles: true, clientX: 500 }));
  expect(host.querySelector(".gs-plus")).toBe(null);
});

test("an edge of several tensors, and a control edge, have no such button", () => {
  for (const of of [{ count: 2 }, { control: true, tensor: "^a" }]) {
    start({ scenes: { source: scene([box("a"), box("b")], [edge("a", "b", of)]), destination: null } });
    drawing().dispatchEvent(new MouseEvent("pointermove", { bubbles: true }));
    expect(host.querySelector(".gs-pointed")).not.toBe(null);
    expect(host.querySelector(".gs-plus")).toBe(null);
  }
});

const chosen = () => host.querySelector<SVGElement>(".gs-edge-item");
const said = () => chosen()!.getAttribute("aria-label");

test("l steps through the edges of a box, which have roles and names", async () => {
  start({
    scenes: {
      source: scene(
        [box("a"), box("b"), box("c")],
        [edge("b", "c"), edge("a", "b"), edge("b", "a", { control: true, tensor: "^b" }), edge("b", "c", { count: 3 })],
      ),
      destination: null,
    },
  });
  item("b").focus();
  key(item("b"), "l");
  expect(document.activeElement).toBe(chosen());
  expect(chosen()!.getAttribute("role")).toBe("treeitem");
  model.answer("edge_tensors", { tensors: [{ tensor: "a:0", text: "float32 (?, 96)" }], values: [] });
  await settled();
  expect(said()).toBe("edge: a:0 to b, float32 (?, 96), 1 of 4");
  expect(host.querySelector(".gs-inspect-title")!.textContent).toBe("a:0");
  const names = [];
  for (let i = 0; i < 4; i++) {
    key(chosen()!, "l");
    names.push(said());
  }
  expect(names).toEqual([
    "edge: b:0 to c, 2 of 4",
    "Control edge from b to a, 3 of 4",
    "edge: 3 tensors from b to c, 4 of 4",
    "edge: a:0 to b, 1 of 4",
  ]);
  key(chosen()!, "L", { shiftKey: true });
  expect(said()).toBe("edge: 3 tensors from b to c, 4 of 4");
  expect(host.querySelectorAll(".gs-edge-item").length).toBe(1);
});

test("from an edge, Enter goes to its other end, an arrow to another box, and Esc back", () => {
  open();
  const go = () => {
    item("a").focus();
    key(item("a"), "l");
    model.answer("edge_tensors", { tensors: [], values: [] });
    expect(document.activeElement).toBe(chosen());
  };
  go();
  key(chosen()!, "Enter");
  expect(document.activeElement).toBe(item("s/"));
  expect(chosen()).toBe(null);
  go();
  key(chosen()!, "Escape");
  expect(document.activeElement).toBe(item("a"));
  expect(chosen()).toBe(null);
  go();
  key(chosen()!, "ArrowDown");
  expect(item("a").parentElement!.contains(document.activeElement)).toBe(true);
  expect(chosen()).toBe(null);
});

test("a click on an edge selects it alone: keys do not act on the box that was selected before", async () => {
  open();
  item("a").focus();
  click(item("a"));
  model.update({ selected: ["a"] });
  model.answer("select", null);
  await settled();
  click(drawing());
  expect(model.verbs.slice(-2)).toEqual([
    ["select", { names: [], mode: "set" }],
    ["edge_tensors", { source: "a", target: "s/", control: false, pane: "source" }],
  ]);
  model.update({ selected: [] });
  model.answer("select", null);
  await settled();
  expect([item("a").classList.contains("gs-selected"), !!chosen()]).toEqual([false, true]);
  const before = model.verbs.length;
  for (const name of ["F2", "a", "y", "q"]) {
    key(item("a"), name);
    expect(host.querySelector(".gs-status-text")!.textContent).toBe("An edge is selected. Select a box first.");
  }
  key(item("a"), "c", { ctrlKey: true });
  expect([model.verbs.length, host.querySelector(".gs-popup")]).toEqual([before, null]);
  for (const [name, more] of [["Delete"], ["Delete", { shiftKey: true }], ["e"]] as const) {
    key(item("a"), name, more);
    expect(title()).toBe("net/conv/Relu:0");
    key(choices()[0]!, "Escape");
  }
  key(item("a"), "c");
  expect(model.verbs.slice(before)).toEqual([["copy", expect.anything()]]);
  key(item("a"), "m");
  expect(item("a").classList.contains("gs-armed")).toBe(true);
});

test("an edge stays selected in a new scene, and keys stay on it", async () => {
  open();
  click(drawing());
  const shapes = scene([box("new"), box("a"), box("s/"), box("c")], [edge("a", "s/", { label: "float32 (2,)" })]);
  for (const [i, one] of shapes.boxes.entries()) one.id = `b${i}`; // ids are numbers in a scene
  Object.assign(shapes.edges[0]!, { from: "b1", to: "b2" });
  model.update({ scenes: { source: { ...shapes, rev: "2" }, destination: null } });
  await settled();
  expect(document.activeElement).toBe(chosen());
  key(chosen()!, "Delete");
  expect(host.querySelector(".gs-menu")).not.toBe(null);
  expect(model.verbs.map(([verb]) => verb)).not.toContain("remove");
  key(choices()[0]!, "Escape");
  model.update({ scenes: { source: { ...scene([box("a"), box("c")]), rev: "3" }, destination: null } });
  expect(chosen()).toBe(null);
});

test("keys on an edge are about the edge, not about its box", () => {
  open();
  item("a").focus();
  key(item("a"), "l");
  const before = model.verbs.length;
  key(chosen()!, "Delete");
  key(chosen()!, "x", { ctrlKey: true });
  expect(model.verbs.length).toBe(before);
  key(chosen()!, "o");
  expect(model.verbs.at(-1)).toEqual(["mark_output", { tensor: "net/conv/Relu:0" }]);
  key(chosen()!, "F10", { shiftKey: true });
  expect(title()).toBe("net/conv/Relu:0");
  key(choices()[0]!, "Escape");
  expect(document.activeElement).toBe(chosen());
});

test("a box without edges has none to step to", () => {
  start({ scenes: { source: scene([box("a"), box("b")]), destination: null } });
  item("a").focus();
  key(item("a"), "l");
  expect(host.querySelector(".gs-status-text")!.textContent).toBe("This box has no edges.");
  expect(document.activeElement).toBe(item("a"));
});

test("an edge is no longer selected when there is another picture", () => {
  open();
  click(drawing());
  const bar = host.querySelector<HTMLElement>(".gs-selection-bar")!;
  expect(bar.hidden).toBe(false);
  model.update({ scenes: { source: { ...scene([box("c"), box("d")]), rev: "2" }, destination: null } });
  expect(bar.hidden).toBe(true);
});

test("while a tensor is asked for, an edge has no button to insert an op", () => {
  open();
  menu();
  choose("Reroute");
  drawing().dispatchEvent(new MouseEvent("pointermove", { bubbles: true }));
  expect(host.querySelector(".gs-plus")).toBe(null);
});

test("a selection in the outline replaces that of an edge, and Esc clears that of an edge before it leaves the full window", async () => {
  open();
  const bar = () => host.querySelector(".gs-selection-bar")!.textContent,
    root = () => host.querySelector(".gs")!;
  item("c").focus();
  key(item("c"), "F", { shiftKey: true });
  click(drawing());
  model.answer("edge_tensors", { tensors: [{ tensor: "a:0", text: "" }], values: [] });
  await settled();
  expect(bar()).toContain("Insert op");
  key(item("c"), "Escape");
  await settled();
  expect([bar(), root().classList.contains("gs-full")]).toEqual(["", true]);
  click(drawing());
  await settled();
  expect(bar()).not.toBe("");
  await settled();
  model.update({ selected: ["c"] });
  await settled();
  expect(bar()).toContain("Rename");
  expect(bar()).toContain("Copy");
});
