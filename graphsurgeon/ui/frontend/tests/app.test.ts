import { beforeEach, expect, test, vi } from "vitest";
import { brightness } from "../src/panels/theme";
import { box, edge, group, NO_BOUNDARY, NO_PLAN, scene, tensorRow } from "./fake";
import { click, close, drawing, host, item, key, model, settled, start } from "./mounted";

beforeEach(() => start());

test("a click highlights at once, then tells Python", () => {
  click(item("a"));
  expect(item("a").classList.contains("gs-selected")).toBe(true);
  expect(model.verbs).toEqual([
    ["select", { names: ["a"], mode: "set" }],
    ["details", { pane: "source", name: "a" }],
  ]);
});

test("the page says whether the kernel owes it an answer", () => {
  const root = host.querySelector(".gs")!;
  expect(root.hasAttribute("data-waits")).toBe(false);
  click(item("a"));
  model.answer("select");
  expect(root.hasAttribute("data-waits")).toBe(true);
  model.answer("details");
  expect(root.hasAttribute("data-waits")).toBe(false);
});

test("Python's selections win once our own are answered", async () => {
  click(item("a"));
  model.update({ selected: [] });
  expect(item("a").classList.contains("gs-selected")).toBe(true);
  model.update({ selected: ["b"] });
  model.answer("select");
  await settled();
  expect(item("a").classList.contains("gs-selected")).toBe(false);
  expect(item("b").classList.contains("gs-selected")).toBe(true);
});

test("a selection that is refused is taken back and said", async () => {
  click(item("a"));
  model.emit("msg:custom", {
    v: 1,
    id: model.sent[0].id,
    ok: false,
    error: { request: "select", problem: "no", suggestion: "yes", fixes: [], step: null },
  });
  await settled();
  expect(item("a").classList.contains("gs-selected")).toBe(false);
  expect(host.querySelector(".gs-status-text")!.textContent).toBe("select: no. yes.");
});

test("details of what is not there any more are no error", async () => {
  const text = () => host.querySelector(".gs-status-text")!.textContent;
  model.update({ selected: ["a"] }); // an undo selects it, and the next one renames it
  model.refuse("details", "nothing in graph has this name");
  await settled();
  expect(text()).toBe("");
  expect(host.querySelector(".gs-inspector")!.textContent).toContain("Select an op");
  click(item("b"));
  model.update({ selected: [] });
  click(item("a"));
  const asked = model.sent.filter(m => m.verb === "details");
  const refused = { request: "details", problem: "nothing in graph has this name", suggestion: "Select another", fixes: [], step: null };
  model.emit("msg:custom", { v: 1, id: asked.at(-2).id, ok: false, error: refused });
  await settled();
  expect(text()).toBe("");
  model.emit("msg:custom", { v: 1, id: asked.at(-1).id, ok: false, error: refused });
  await settled();
  expect(text()).toBe("details: nothing in graph has this name. Select another.");
});

test("i, o and Enter on what has the focus", () => {
  start({ scenes: { source: scene([box("a"), box("s/"), box("n", { outputs: 0 })]), destination: null } });
  item("a").focus();
  key(item("a"), "i");
  key(item("a"), "o");
  item("s/").focus();
  key(item("s/"), "i"); // whether it is a layer, whose output is meant, the kernel knows
  key(item("s/"), "Enter");
  item("n").focus();
  key(item("n"), "o");
  expect(host.querySelector(".gs-status-text")!.textContent).toContain("no output tensor");
  expect(model.verbs).toEqual([
    ["mark_input", { tensor: "a:0" }],
    ["mark_output", { tensor: "a:0" }],
    ["mark_input", { tensor: "s/" }],
    ["unfold", { pane: "source", name: "s/" }],
  ]);
});

test("a box is an empty frame at once, and again a box if the kernel refuses to unfold it", async () => {
  start({ scenes: { source: scene([box("s/"), box("a", { y: 100 })]), destination: null } });
  const opening = () => item("s/").classList.contains("gs-opening");
  item("s/").focus();
  key(item("s/"), "Enter");
  expect(opening()).toBe(true);
  model.refuse("unfold", "there would be more than 400 boxes");
  await settled();
  expect(opening()).toBe(false);
});

test("keys act on the widget only while the focus is inside it, wherever the pointer is", () => {
  const root = host.querySelector(".gs")!,
    heard: string[] = [];
  document.addEventListener("keydown", e => e.target === document.body && heard.push(e.key));
  for (const event of ["pointerenter", "pointerover", "pointermove"]) root.dispatchEvent(new MouseEvent(event, { bubbles: true }));
  for (const name of ["g", "Delete", "c", "x"]) expect(key(document.body, name)).toBe(true);
  for (const name of ["Enter", "z"]) expect(key(document.body, name, { ctrlKey: true })).toBe(true);
  expect(model.verbs).toEqual([]);
  expect(heard).toEqual(["g", "Delete", "c", "x", "Enter", "z"]);
});

test("a click after the kernel was shut down disables the buttons, and one line has the reason", async () => {
  start();
  model.send = () => {
    throw new Error("Cannot send");
  };
  click(item("a"));
  await settled();
  expect(host.querySelector(".gs-status-text")!.textContent).toBe(
    "The kernel of this graph has stopped, so the picture no longer changes. Rerun the cell.",
  );
  expect([...host.querySelectorAll<HTMLButtonElement>(".gs-doing button")].filter(b => !b.disabled)).toEqual([]);
});

test("without a kernel, what asks it is grey, and what looks around works", async () => {
  start({
    boundary: { ...NO_BOUNDARY, inputs: [{ tensor: "a:0", text: "" }], ops: 1, leaks: [{ tensor: "b:0", text: "" }] },
    plan: { ...NO_PLAN, steps: [{ text: "copy of a", muted: false }], ready: true, code: "plan", scopes: { 0: "copy" } },
    views: { back: 1, forward: 1, undo: 1, redo: 1, saved: ["head"] },
  });
  model.update({ selected: ["a"] });
  const none = { inputs: [], totals: {}, control_inputs: [], consumers: [], doc: "", attributes: [] };
  model.answer("details", { ...none, title: "a", rows: [["type", "Relu"]], outputs: [{ tensor: "a:0", text: "" }], device: "" });
  await settled();
  const named = (b: Element, name: string) =>
    [b.getAttribute("aria-label"), b.getAttribute("title"), b.textContent].some(n => n?.startsWith(name));
  const button = (name: string) => [...host.querySelectorAll("button")].find(b => named(b, name))!;
  const grey = [
    "Run",
    "Recipes",
    "Save",
    "Apply",
    "Try",
    "Undo",
    "Redo",
    "Copy the region",
    "Rename",
    "Boundary input a:0",
    "Views",
    "Back",
    "Fold all",
  ];
  expect(grey.filter(name => button(name).disabled)).toEqual([]);
  model.emit("comm:close");
  await settled();
  expect(grey.filter(name => !button(name)?.disabled)).toEqual([]);
  const text = () => host.querySelector(".gs-status-text")!.textContent!;
  const press = (part: string) => {
    for (const one of host.querySelectorAll<HTMLInputElement>(`${part} :is(button, input, select)`))
      if (!one.disabled && !one.matches(".gs-link")) click(one);
  };
  for (const part of [".gs-top", ".gs-inspector", ".gs-status", ".gs-doing"]) press(part);
  for (const tab of ["boundary", "mapping", "steps"]) {
    const at = host.querySelector<HTMLElement>(`[data-tab="${tab}"]`)!;
    if (at.getAttribute("aria-selected") === "false") click(at);
    await settled();
    press(".gs-panel");
  }
  await settled();
  expect(text()).not.toContain(": the kernel of"); // a request would be refused so
  item("b").focus();
  const asked = model.sent.length;
  key(item("b"), "x");
  expect(text()).toBe("The kernel of this graph has stopped, so the picture no longer changes. Rerun the cell.");
  item("b").dispatchEvent(new MouseEvent("contextmenu", { bubbles: true, cancelable: true }));
  const choices = [...host.querySelectorAll<HTMLButtonElement>(".gs-choice")];
  expect(choices.filter(c => !c.disabled).map(c => c.textContent)).toEqual(["Focus on its neighborhoodq"]);
  key(host.querySelector(".gs-menu")!, "Escape");
  expect(model.sent.length).toBe(asked);
});

test("typing in a field is not a command", () => {
  const field = host.querySelector<HTMLInputElement>(".gs-copy-to")!;
  field.focus();
  key(field, "c");
  key(field, "i");
  key(field, "z", { ctrlKey: true });
  expect(model.verbs).toEqual([]);
  field.value = "grafted";
  key(field, "Enter");
  expect(model.verbs).toEqual([["copy", { to: "grafted", unmapped: "placeholder", control: "auto" }]]);
});

test("after a copy by hand its steps are shown; after one that is refused nothing is", async () => {
  const field = host.querySelector<HTMLInputElement>(".gs-copy-to")!,
    panel = host.querySelector<HTMLElement>(".gs-panel")!;
  key(field, "Enter");
  model.emit("msg:custom", {
    v: 1,
    id: model.sent.at(-1).id,
    ok: false,
    error: { request: "copy", problem: "no", suggestion: "yes", fixes: [], step: null },
  });
  await settled();
  expect(panel.hidden).toBe(true);
  key(field, "Enter");
  model.update({ plan: { ...NO_PLAN, steps: [{ text: "copy of a", muted: false }] } });
  model.answer("copy");
  await settled();
  expect(panel.textContent).toContain("copy of a");
});

test("apply is not sent for a plan with faults", () => {
  model.update({
    plan: {
      ...NO_PLAN,
      steps: [{ text: "x", muted: false }],
      faults: [{ request: "copy", problem: "taken", suggestion: "other", fixes: [], step: null }],
    },
  });
  item("a").focus();
  key(item("a"), "Enter", { ctrlKey: true });
  expect(model.verbs).toEqual([]);
  expect(host.querySelector(".gs-panel")!.textContent).toContain("taken");
});

test("r twice reroutes; what needs no second end is in the menu of edits", () => {
  item("a").focus();
  key(item("a"), "r");
  expect(item("a").classList.contains("gs-armed")).toBe(true);
  item("b").focus();
  key(item("b"), "r");
  expect(model.verbs.at(-1)).toEqual(["reroute", { old: "a:0", to: "b:0", only: [] }]);
  key(item("b"), "e");
  const choice = (text: string) => [...host.querySelectorAll<HTMLElement>(".gs-choice")].find(c => c.textContent!.startsWith(text))!;
  click(choice("Bypass"));
  expect(model.verbs.at(-1)).toEqual(["bypass", { op: "b" }]);
  key(item("b"), "e");
  click(choice("Swap"));
  item("a").focus();
  key(item("a"), "Enter");
  expect(model.verbs.at(-1)).toEqual(["swap", { a: "b:0", b: "a:0" }]);
  key(item("a"), "Delete");
  expect(model.verbs.at(-1)).toEqual(["remove", { names: ["a"], stitch: true }]);
  key(item("a"), "Delete", { shiftKey: true });
  expect(model.verbs.at(-1)).toEqual(["remove", { names: ["a"], stitch: false }]);
});

const menu = () => [...host.querySelectorAll<HTMLElement>(".gs-choice")];
const choice = (text: string) => menu().find(c => c.textContent!.startsWith(text))!;
const fields = () => [...host.querySelectorAll<HTMLInputElement>(".gs-field")];
/** Opens the menu of edits on a box and takes an item. */
function edit(label: string, text: string): void {
  item(label).focus();
  key(item(label), "e");
  click(choice(text));
}

test("the edits stand under headings, and each is reached by the arrow keys", () => {
  item("a").focus();
  key(item("a"), "e");
  expect([...host.querySelectorAll(".gs-over")].map(e => e.textContent)).toEqual([
    "Consumers",
    "This op",
    "Order",
    "Functions and patterns",
    "The plan so far",
  ]);
  const live = menu().filter(c => !(c as HTMLButtonElement).disabled);
  for (const expected of live) {
    expect(document.activeElement).toBe(expected);
    key(document.activeElement!, "ArrowDown");
  }
  expect(document.activeElement).toBe(live[0]);
  // no plan, no selections: nothing to carry out, nothing to copy; no call, nothing to inline
  expect(
    menu()
      .filter(c => (c as HTMLButtonElement).disabled)
      .map(c => c.textContent),
  ).toEqual(["Insert a copy of the selection\u2026", "Make these edits on copies\u2026"]);
  expect(choice("Inline")).toBe(undefined);
});

test("rename, collapse and inline", () => {
  start({
    scenes: {
      source: scene([
        box("s/"),
        box("call", { kind: "call", subtitle: "PartitionedCall \u00b7 (2)" }),
        box("loop", { kind: "call", subtitle: "While \u00b7 (2)" }),
        box("bend", { subtitle: "StatelessIf" }),
        box("~s_[0..3]/", { kind: "series" }),
      ]),
      destination: null,
    },
  });
  edit("s/", "Rename");
  expect(fields().map(f => f.value)).toEqual(["s"]);
  fields()[0]!.value = "t";
  key(fields()[0]!, "Enter");
  expect(model.verbs.at(-1)).toEqual(["rename", { old: "s/", to: "t" }]);
  edit("s/", "Collapse it into a function");
  key(fields()[0]!, "Enter");
  expect(model.verbs.at(-1)).toEqual(["collapse", { names: ["s/"], name: null }]);
  edit("call", "Inline the call");
  expect(model.verbs.at(-1)).toEqual(["inline", { names: ["call"] }]);
  edit("loop", "Inline the call");
  expect(model.verbs.at(-1)).toEqual(["inline", { names: ["loop"] }]);
  edit("loop", "Unroll the loop");
  fields()[0]!.value = "2";
  key(fields()[0]!, "Enter");
  expect(model.verbs.at(-1)).toEqual(["unroll", { loop: "loop", times: 2 }]);
  edit("bend", "Fix condition");
  expect(fields()[0]!.value).toBe("True");
  key(fields()[0]!, "Enter");
  expect(model.verbs.at(-1)).toEqual(["resolve_condition", { name: "bend", value: "True" }]);
  item("~s_").focus();
  key(item("~s_"), "e");
  expect(choice("Rename")).toBe(undefined);
});

test("an op without outputs can be waited for and made to wait", () => {
  start({ scenes: { source: scene([box("n", { outputs: 0 }), box("b")]), destination: null } });
  edit("n", "Reroute its waiting ops");
  item("b").focus();
  key(item("b"), "Enter");
  expect(model.verbs.at(-1)).toEqual(["reroute_control", { old: "n", to: "b" }]);
  edit("b", "Run it after");
  item("n").focus();
  key(item("n"), "Enter");
  expect(model.verbs.at(-1)).toEqual(["add_control", { op: "b", after: "n" }]);
});

test("all like it: found, then replaced by what was selected, not by all that was found", async () => {
  start({ scenes: { source: scene([box("a"), box("b"), box("s/")]), destination: null } });
  click(item("a"));
  item("a").focus();
  key(item("a"), "F10", { shiftKey: true });
  click(choice("Find all similar"));
  expect(model.verbs.at(-1)).toEqual(["find_similar", { names: ["a"] }]);
  model.answer("select");
  model.answer("find_similar", { count: 2, ops: 2, boxes: { "s/": 1 }, near: "" });
  model.update({ selected: ["a", "b"] });
  await settled();
  expect(item("s/").classList.contains("gs-hit-box")).toBe(true);
  edit("a", "Replace all similar ops");
  expect(host.querySelector(".gs-dialog")!.getAttribute("aria-label")).toBe("Replace all similar to a");
  model.answer("op_types", [{ name: "Softplus", doc: "Computes softplus." }]);
  await settled();
  key(fields()[0]!, "Enter");
  await settled();
  expect(model.verbs.at(-1)).toEqual(["replace", { names: ["a"], replacement: "Softplus", external: "refuse" }]);
  // a selection of one's own ends that
  click(item("b"));
  expect(item("s/").classList.contains("gs-hit-box")).toBe(false);
  edit("b", "Replace all similar ops");
  expect(model.verbs.at(-1)).toEqual(["op_types", { query: "", names: ["b"], inputs: 0 }]);
});

test("an op type is searched by typing; Enter waits for what is found, and takes it; of a scope one says what becomes of its readers", async () => {
  start({ scenes: { source: scene([box("s/"), box("b")]), destination: null } });
  item("s/").focus();
  key(item("s/"), "y");
  model.answer("op_types", [
    { name: "Elu", doc: "" },
    { name: "Selu", doc: "" },
  ]);
  await settled();
  key(fields()[0]!, "ArrowDown");
  expect(fields()[0]!.getAttribute("aria-activedescendant")).toBe(host.querySelectorAll("[role=option]")[1]!.id);
  fields()[0]!.value = "soft";
  fields()[0]!.dispatchEvent(new Event("input"));
  fields()[1]!.value = "keep";
  key(fields()[0]!, "Enter");
  await settled();
  expect(model.verbs.at(-1)).toEqual(["op_types", { query: "soft", names: ["s/"], inputs: 0 }]);
  model.answer("op_types", [{ name: "Softplus", doc: "" }]);
  await settled();
  expect(model.verbs.at(-1)).toEqual(["replace", { names: ["s/"], replacement: "Softplus", external: "keep" }]);
});

test("a value is changed where it is shown: from a menu where all that it may be is known", async () => {
  click(item("a"));
  const details = {
    title: "a",
    rows: [
      ["type", "Conv2D"],
      ["padding", "'SAME'"],
      ["strides", "[1]"],
    ],
    inputs: [],
    outputs: [],
    totals: {},
    control_inputs: [],
    consumers: [],
    doc: "",
    device: "",
    attributes: [
      { name: "padding", value: "SAME", previous: "", choices: ["SAME", "VALID"] },
      { name: "strides", value: "[1]", previous: "", choices: [] },
    ],
  };
  model.answer("details", details);
  await settled();
  const set = (of: string) => click(host.querySelector<HTMLElement>(`.gs-set[aria-label^="${of}:"]`)!);
  set("padding");
  click(choice("VALID"));
  expect(model.verbs.at(-1)).toEqual(["set_attr", { names: ["a"], name: "padding", value: "VALID" }]);
  set("strides");
  fields()[0]!.value = "[2]";
  key(fields()[0]!, "Enter");
  expect(model.verbs.at(-1)).toEqual(["set_attr", { names: ["a"], name: "strides", value: "[2]" }]);
  set("device");
  fields()[0]!.value = "/gpu:0";
  key(fields()[0]!, "Enter");
  expect(model.verbs.at(-1)).toEqual(["set_device", { names: ["a"], device: "/gpu:0" }]);
  // by key: one text says both, and a part of it is enough
  item("a").focus();
  key(item("a"), "a");
  model.answer("attributes", { types: [["Conv2D", 1]], device: "", attributes: details.attributes });
  await settled();
  fields()[0]!.value = "valid";
  fields()[0]!.dispatchEvent(new Event("input"));
  key(fields()[0]!, "Enter");
  await settled();
  expect(model.verbs.at(-1)).toEqual(["set_attr", { names: ["a"], name: "padding", value: "VALID" }]);
});

test("what is selected is inserted elsewhere as a copy; the edits so far go on copies", () => {
  start({
    scenes: { source: scene([box("a"), box("b")]), destination: null },
    plan: { ...NO_PLAN, steps: [{ text: "bypass a", muted: false }] },
  });
  click(item("a"));
  edit("b", "Insert a copy");
  key(fields()[0]!, "Enter");
  expect(model.verbs.at(-1)).toEqual(["insert_copy", { names: ["a"], on: "b:0", to: null, pane: "destination" }]);
  edit("b", "Make these edits on copies");
  fields()[0]!.value = "new";
  fields()[1]!.value = "b";
  key(fields()[2]!, "Enter");
  expect(model.verbs.at(-1)).toEqual(["on_copies", { scope: "new", until: ["b"], assign: "leave" }]);
});

test("an edit that needs words asks for them; Enter answers", () => {
  item("a").focus();
  key(item("a"), "e");
  click([...host.querySelectorAll<HTMLElement>(".gs-choice")].find(c => c.textContent!.startsWith("Insert"))!);
  const [op, name] = [...host.querySelectorAll<HTMLInputElement>(".gs-field")];
  expect(op!.value).toBe("Identity");
  op!.value = "Relu";
  key(name!, "Enter");
  expect(model.verbs.at(-1)).toEqual(["insert", { op: "Relu", on: "a:0", name: null, only: [] }]);
  expect(host.querySelector(".gs-field")).toBe(null);
  expect(document.activeElement).toBe(item("a"));
});

test("a scope is taken out at once: it is a step that can be taken back", () => {
  start({ scenes: { source: scene([box("s/"), box("b")]), destination: null } });
  item("s/").focus();
  key(item("s/"), "Delete", { shiftKey: true });
  expect(model.verbs).toEqual([["remove", { names: ["s/"], stitch: false }]]);
});

test("the source of a copy into another graph is not edited", () => {
  model.update({ plan: { ...NO_PLAN, same: false } });
  item("a").focus();
  key(item("a"), "Delete");
  key(item("a"), "e");
  expect(model.verbs).toEqual([]);
  expect(host.querySelector(".gs-status-text")!.textContent).toContain("Edits are made in d");
});

test("the focus stays on a scope that becomes a group", () => {
  start({ scenes: { source: scene([box("s/"), box("b")]), destination: null } });
  item("s/").focus();
  model.update({ scenes: { source: scene([box("s/x"), box("b")], [], [group("s/")]), destination: null } });
  expect(document.activeElement).toBe(item("s/"));
  expect(item("s/").getAttribute("aria-expanded")).toBe("true");
});

test("a click on an edge asks for its tensors alone", () => {
  click(drawing());
  expect(host.querySelector(".gs-inspector")!.textContent).toContain("a:0");
  expect(model.verbs.map(([verb]) => verb)).toEqual(["edge_tensors"]);
});

test("marks in the boundary are pressed buttons in the inspector", async () => {
  click(item("a"));
  model.answer("details", {
    title: "Relu",
    rows: [["T", "float32"]],
    inputs: [],
    outputs: [{ tensor: "a:0", text: "float32" }],
    totals: {},
    control_inputs: ["c"],
    consumers: ["b"],
    doc: "",
  });
  await settled();
  const press = () => host.querySelector<HTMLElement>('[aria-label="Boundary input a:0"]')!;
  expect(press().getAttribute("aria-pressed")).toBe("false");
  model.update({ boundary: { ...NO_BOUNDARY, inputs: [tensorRow("a:0", "float32")] } });
  expect(press().getAttribute("aria-pressed")).toBe("true");
  click(press());
  expect(model.verbs.at(-1)).toEqual(["unmark", { tensor: "a:0" }]);
});

test("a reveal goes to the box when its scene comes, even after the answer", async () => {
  model.update({ outline: { rows: [{ name: "s/x", label: "x", kind: "op", count: 1, depth: 0, open: false }] } });
  click(host.querySelector(".gs-entry")!);
  model.answer("reveal");
  await settled();
  model.update({ scenes: { source: scene([box("a"), box("s/x", { label: "x" })]), destination: null }, selected: ["s/x"] });
  expect(item("x").getAttribute("tabindex")).toBe("0");
  expect(item("x").classList.contains("gs-selected")).toBe(true);
  expect(model.verbs.at(-1)).toEqual(["details", { pane: "source", name: "s/x" }]);
});

test("the outline is a tree that keys walk", () => {
  model.update({
    outline: {
      rows: [
        { name: "s/", label: "s", kind: "scope", count: 2, depth: 0, open: true },
        { name: "s/x", label: "x", kind: "op", count: 1, depth: 1, open: false },
      ],
    },
  });
  const rows = [...host.querySelectorAll<HTMLElement>(".gs-entry")];
  expect(rows.map(r => [r.getAttribute("aria-level"), r.getAttribute("aria-expanded"), r.tabIndex])).toEqual([
    ["1", "true", 0],
    ["2", null, -1],
  ]);
  rows[0]!.focus();
  key(rows[0]!, "ArrowDown");
  expect(document.activeElement).toBe(rows[1]);
  key(rows[1]!, "ArrowLeft");
  key(rows[0]!, "ArrowLeft");
  expect(model.verbs).toEqual([["outline_close", { name: "s/" }]]);
});

test("a slow kernel is said, with a way out", () => {
  vi.useFakeTimers();
  click(item("a"));
  vi.advanceTimersByTime(400);
  expect(host.querySelector(".gs-status-text")!.textContent).toContain("Waiting for the kernel");
  vi.useRealTimers();
});

test("shapes are asked for once a picture has stood for a while, where some are not there", () => {
  vi.useFakeTimers();
  const asked = () => model.verbs.filter(([verb]) => verb === "infer").length,
    draw = (name: string) => model.update({ scenes: { source: scene([box(name)]), destination: null } });
  close();
  start({ inferred: false });
  vi.advanceTimersByTime(900);
  draw("unfolded");
  vi.advanceTimersByTime(900);
  expect(asked()).toBe(0);
  vi.advanceTimersByTime(100);
  expect(asked()).toBe(1);
  model.update({ inferred: true });
  draw("b");
  vi.advanceTimersByTime(5000);
  expect(asked()).toBe(1);
  // nobody looks any more
  model.update({ inferred: false });
  draw("c");
  close();
  vi.advanceTimersByTime(5000);
  expect(asked()).toBe(1);
  start();
  vi.useRealTimers();
});

test("everything is taken away at the end", () => {
  close();
  expect([...model.heard.values()].every(calls => calls.size === 0)).toBe(true);
  expect(host.childElementCount).toBe(0);
  start();
});

test("brightness of colors", () => {
  expect(brightness("#fff")).toBe(1);
  expect(brightness(" #111111 ")!).toBeLessThan(0.1);
  expect(brightness("rgb(0, 0, 0)")).toBe(0);
  expect(brightness("rgba(0, 0, 0, 0)")).toBe(null);
  expect(brightness("var(--x)")).toBe(null);
});

test("an edge that is new or removed says so", () => {
  model.update({ scenes: { source: scene([box("a"), box("b")], [edge("a", "b", { state: "new", count: 4 })]), destination: null } });
  expect(host.querySelector(".gs-edge.gs-is-new")).not.toBe(null);
});

test("a button of the plan bar that goes with its row leaves the keyboard to its like", () => {
  const leak = (tensor: string) => ({ tensor, dtype: "", shape: "", text: tensor });
  const some = (...leaks: string[]) => ({ ...NO_BOUNDARY, outputs: [leak("b:0")], ops: 2, leaks: leaks.map(leak) });
  model.update({ boundary: some("a:0", "c:0") });
  const at = () => document.activeElement!.getAttribute("aria-label");
  host.querySelector<HTMLElement>('[data-tab="boundary"]')!.click();
  const [first] = host.querySelectorAll<HTMLElement>(".gs-panel button");
  first!.focus();
  model.update({ boundary: some("c:0") });
  expect(at()).toBe("Add as input c:0");
  model.update({ boundary: some("c:0"), plan: { ...NO_PLAN, steps: [{ text: "copy", muted: false }] } });
  expect(at()).toBe("Add as input c:0");
  // another list came up: the keyboard is on it, not on a button nobody chose
  model.update({
    plan: {
      ...NO_PLAN,
      steps: [{ text: "copy", muted: false }],
      faults: [{ request: "copy", problem: "no", suggestion: "yes", fixes: [], step: null }],
    },
  });
  expect(document.activeElement).toBe(host.querySelector(".gs-panel"));
  host.querySelector<HTMLElement>(".gs-summary button:last-child")!.focus();
  model.update({ boundary: NO_BOUNDARY });
  expect(document.activeElement).toBe(item("a"));
});

test("what would make a tensor fit stands beside its fault, as buttons", () => {
  const fixes = [
    { kinds: ["cast"], text: "cast to float32" },
    { kinds: ["pool", "dense"], text: "mean of each channel, then dense to 3" },
  ];
  const faults = [
    { request: "copy", problem: "no", suggestion: "yes", fixes: [], step: null },
    { request: "connect", problem: "it is int32", suggestion: "yes", fixes, step: 1 },
  ];
  model.update({
    plan: {
      ...NO_PLAN,
      steps: [
        { text: "connect", muted: false },
        { text: "connect", muted: false },
        { text: "connect", muted: false },
      ],
      faults,
    },
  });
  const buttons = [...host.querySelectorAll<HTMLElement>(".gs-problems [role=group] button")];
  expect(buttons.map(b => b.textContent)).toEqual(["Cast", "Pool + dense", "Edit this step", "Remove this step"]);
  click(buttons[3]!);
  expect(model.verbs.at(-1)).toEqual(["remove_step", { step: 1 }]);
  expect(buttons[1]!.title).toBe("Pool + dense: mean of each channel, then dense to 3");
  click(buttons[1]!);
  expect(model.verbs.at(-1)).toEqual(["apply_fix", { fault: 1, fix: 1 }]);
});

test("a form that is refused comes back with what was typed, and says why", async () => {
  edit("a", "Rename");
  fields()[0]!.value = "b c";
  key(fields()[0]!, "Enter");
  expect(host.querySelector(".gs-dialog")).toBe(null);
  model.refuse("rename", "'b c' is not a name");
  await settled();
  expect(fields()[0]!.value).toBe("b c");
  expect(document.activeElement).toBe(fields()[0]);
  expect(host.querySelector(".gs-dialog [role=alert]")!.textContent).toBe("Name: 'b c' is not a name. Type another.");
  expect(host.querySelector(".gs-status-text")!.textContent).toContain("'b c' is not a name");
  fields()[0]!.value = "c";
  key(fields()[0]!, "Enter");
  expect(model.verbs.at(-1)).toEqual(["rename", { old: "a", to: "c" }]);
  model.answer("rename");
  await settled();
  expect(host.querySelector(".gs-dialog")).toBe(null);
  // an answer that comes late takes nothing away from what is asked by then
  edit("a", "Rename");
  key(fields()[0]!, "Enter");
  edit("b", "Rename");
  model.refuse("rename", "late");
  await settled();
  expect(fields()[0]!.value).toBe("b");
});

test("a form that is refused goes to the field of the argument that is wrong", async () => {
  edit("a", "Insert op after it");
  key(fields()[1]!, "Enter");
  const { id } = model.sent.filter(m => m.verb === "insert").at(-1);
  const error = { request: "insert", problem: "name is 'b c'", suggestion: "Give another", argument: "name" };
  model.emit("msg:custom", { v: 1, id, ok: false, error });
  await settled();
  expect(document.activeElement).toBe(fields()[1]);
  expect(host.querySelector(".gs-dialog [role=alert]")!.textContent).toBe("Name: name is 'b c'. Give another.");
  expect(fields().map(f => f.getAttribute("aria-invalid"))).toEqual([null, "true"]);
  key(fields()[1]!, "Enter");
  model.refuse("insert", "there is no room"); // without an argument, it is about no field
  await settled();
  expect(document.activeElement).toBe(fields()[0]);
  expect(host.querySelector(".gs-dialog [role=alert]")!.textContent).toBe("there is no room. Type another.");
  expect(fields().map(f => f.getAttribute("aria-invalid"))).toEqual([null, null]);
});

test("apply asks only where something is lost", () => {
  const ready = { ...NO_PLAN, steps: [{ text: "copy", muted: false }], ready: true },
    applied = () => model.verbs.filter(([verb]) => verb === "apply").length,
    asked = () => document.querySelector('[role="alertdialog"]');
  model.update({ plan: ready });
  click(host.querySelector(".gs-primary")!);
  expect([applied(), asked()]).toEqual([1, null]);
  model.update({ plan: { ...ready, warnings: ["1 variable will start from initial values"] } });
  click(host.querySelector(".gs-primary")!);
  expect(asked()!.textContent).toContain("1 variable will start from initial values");
  expect(applied()).toBe(1);
  click([...asked()!.querySelectorAll("button")].find(b => b.textContent === "Apply")!);
  expect([applied(), asked()]).toEqual([2, null]);
});

test("names in faults and warnings lead to what they name, in the pane that shows it", () => {
  const links = { "x:0 is int32": [["x:0", "x", "source"], [" is int32"]], "unread: n/y": [["unread: "], ["n/y", "n/y", "destination"]] };
  const faults = [{ request: "connect", problem: "x:0 is int32", suggestion: "yes", fixes: [], step: null }];
  model.update({ plan: { ...NO_PLAN, steps: [{ text: "connect", muted: false }], faults, warnings: ["unread: n/y"], links } as any });
  expect(host.querySelector(".gs-problems li > div > div")!.textContent).toBe("connect: x:0 is int32");
  const named = [...host.querySelectorAll<HTMLElement>(".gs-problems .gs-link")];
  expect(named.map(e => e.textContent)).toEqual(["x:0", "n/y"]);
  for (const one of named) click(one);
  expect(model.verbs.slice(-2)).toEqual([
    ["reveal", { pane: "source", name: "x" }],
    ["reveal", { pane: "destination", name: "n/y" }],
  ]);
});

test("what feeds a copy is said in its table: by a choice, by typing, or by picking a box; Esc gives up", async () => {
  const row = {
    tensor: "x:0",
    text: "x:0 float32",
    dtype: "float32",
    shape: "()",
    step: 0,
    kind: "placeholder",
    source: "copy/x",
    same: true,
  };
  const inputs = [
    { ...row, end: "in" as const },
    { ...row, tensor: "y:0", text: "y:0", kind: "", source: "copy/y:0", end: "out" as const },
  ];
  model.update({ plan: { ...NO_PLAN, steps: [{ text: "copy", muted: false }], inputs, scopes: { 0: "copy" } } });
  click([...host.querySelectorAll<HTMLElement>("[role=tab]")].find(t => t.textContent!.startsWith("Mapping"))!);
  const panel = () => host.querySelector<HTMLElement>(".gs-mapping")!;
  const named = (label: string) =>
    [...panel().querySelectorAll<HTMLElement>("[aria-label], [title]")].find(e => (e.getAttribute("aria-label") ?? e.title) === label)!;
  const select = named("Source of x:0") as HTMLSelectElement;
  select.value = "keep";
  select.dispatchEvent(new Event("change"));
  expect(model.verbs.at(-1)).toEqual(["set_input", { step: 0, tensor: "x:0", replacement: "keep" }]);
  const typed = named("Tensor or value that feeds x:0") as HTMLInputElement;
  typed.value = "[1, 2]";
  key(typed, "Enter");
  expect(model.verbs.at(-1)).toEqual(["set_input", { step: 0, tensor: "x:0", replacement: "[1, 2]" }]);
  const scope = named("Scope of the copy copy") as HTMLInputElement;
  scope.value = "new";
  key(scope, "Enter");
  expect(model.verbs.at(-1)).toEqual(["set_scope", { step: 0, to: "new" }]);
  const pick = "Choose the tensor that feeds x:0";
  click(named(pick));
  click(item("a"));
  model.answer("details", {
    title: "a",
    rows: [],
    inputs: [],
    outputs: [{ tensor: "a:1", text: "" }],
    totals: {},
    control_inputs: [],
    consumers: [],
    doc: "",
  });
  await settled();
  expect(model.verbs.at(-1)).toEqual(["set_input", { step: 0, tensor: "x:0", replacement: "a:1" }]);
  click(named(pick));
  expect(host.querySelector(".gs-picking")).not.toBeNull();
  item("a").focus();
  key(item("a"), "Escape");
  expect(host.querySelector(".gs-picking")).toBeNull();
  click(named("Choose a tensor: its consumers will read copy/y:0"));
  click(item("b"));
  model.answer("details", {
    title: "b",
    rows: [],
    inputs: [],
    outputs: [{ tensor: "b:0", text: "" }],
    totals: {},
    control_inputs: [],
    consumers: [],
    doc: "",
  });
  await settled();
  expect(model.verbs.at(-1)).toEqual(["reroute", { old: "b:0", to: "copy/y:0", only: [] }]);
});

test("a text that is being typed stays when the plan changes, until the name changes", () => {
  const plan = (name: string, text: string) => ({
    ...NO_PLAN,
    steps: [{ text, muted: false }],
    new: [{ name, original: "x", op: "Relu" }],
    counts: { ...NO_PLAN.counts, ops: 1 },
  });
  model.update({ plan: plan("net/a", "one") });
  host.querySelector<HTMLElement>('[data-tab="names"]')!.click();
  const field = host.querySelector<HTMLInputElement>(".gs-panel .gs-entered")!;
  expect(field.value).toBe("net/a");
  field.focus();
  field.value = "net/b";
  model.update({ plan: plan("net/a", "two") });
  expect([host.querySelector(".gs-entered"), document.activeElement, field.value]).toEqual([field, field, "net/b"]);
  key(field, "Enter");
  expect(model.verbs.at(-1)).toEqual(["rename", { old: "net/a", to: "net/b" }]);
  model.update({ plan: plan("net/b_1", "two") });
  expect([document.activeElement, field.value]).toEqual([field, "net/b_1"]);
});
