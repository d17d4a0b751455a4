import { beforeEach, expect, test } from "vitest";
import { box, edge, NO_BOUNDARY, NO_PLAN, scene, tensorRow } from "./fake";
import { choices, click, drawing, host, item, key, model, settled, start } from "./mounted";

const taker = (op: string, input = 0, reason = "", adaptable = false) => ({ op, input, current_input: "x:0", reason, adaptable });
const answer = (boxes: object, pane = "source", copies = 0) => ({ tensor: "a:0", text: "float32 (2,)", pane, boxes, copies });
const canvas = (pane = "source") => host.querySelector<HTMLElement>(`.gs-pane-${pane} .gs-canvas`)!;
const status = () => host.querySelector(".gs-status-text")!.textContent!;
const tip = () => host.querySelector(".gs-tip")!.textContent!;

/** What lies under the pointer, wherever that is. */
let under: Element | null = null;
function mouse(e: Element, kind: string, more = {}): void {
  e.dispatchEvent(new MouseEvent(`pointer${kind}`, { bubbles: true, cancelable: true, ...more }));
}
/** Presses at one element and moves to a point; the button is still held. */
function drag(from: Element, x: number, y: number, more = {}): void {
  mouse(from, "down", { clientX: 10, clientY: 10, ...more });
  mouse(canvas(), "move", { clientX: x, clientY: y, ...more });
}
const drop = (x = 50, y = 50) => mouse(canvas(), "up", { clientX: x, clientY: y });

function open(state = {}): void {
  start(state);
  for (const one of host.querySelectorAll<HTMLElement>(".gs-canvas"))
    one.getBoundingClientRect = () => ({ left: 0, top: 0, right: 400, bottom: 400, width: 400, height: 400 }) as DOMRect;
  document.elementFromPoint = () => under;
}

beforeEach(() => {
  under = null;
  open({ scenes: { source: scene([box("a"), box("b", { y: 100 }), box("c", { x: 200, y: 100 })], [edge("a", "b")]), destination: null } });
});

const port = () => host.querySelector(".gs-port-out")!;
function take(): void {
  mouse(item("a"), "move"); // the pointer comes to the box
  drag(port(), 60, 60);
}

const SHAPES = "axis 0 is 2 against 3",
  ADAPTERS = [
    { kinds: ["dense"], text: "dense to 3" },
    { kinds: ["pool", "dense"], text: "mean of each channel, then dense to 3" },
  ];

test("where dtype or shape are against it, the drop offers what makes it fit", async () => {
  take();
  model.answer("input_candidates", answer({ b: [taker("b", 0, SHAPES, true)], c: [taker("c", 0, "no")] }));
  await settled();
  under = item("b");
  mouse(canvas(), "move", { clientX: 70, clientY: 60 });
  expect(tip()).toBe(`\u2715 input 0 of b: ${SHAPES}. Drop to list adapters`);
  drop();
  await settled();
  expect(model.verbs.at(-1)).toEqual(["adapters", { tensor: "a:0", to: "b", input: 0, pane: "destination" }]);
  model.answer("adapters", ADAPTERS);
  await settled();
  expect(choices().map(c => c.textContent)).toEqual(["Dense to 3", "Mean of each channel, then dense to 3"]);
  expect(status()).toContain(SHAPES);
  click(host.querySelectorAll(".gs-choice")[1]!);
  expect(model.verbs.at(-1)).toEqual(["adapt", { tensor: "a:0", to: "b", input: 0, kinds: ["pool", "dense"] }]);
});

test("m on an op that does not fit offers what makes it fit, of several inputs at the one that is chosen", async () => {
  item("a").focus();
  key(item("a"), "m");
  model.answer("input_candidates", answer({ b: [taker("b", 0, SHAPES, true), taker("b", 1, "no"), taker("b", 2)] }));
  await settled();
  item("b").focus();
  key(item("b"), "m");
  await settled();
  const [first, second] = host.querySelectorAll<HTMLButtonElement>(".gs-choice");
  expect([first!.disabled, second!.disabled]).toEqual([false, true]);
  click(first!);
  await settled();
  expect(model.verbs.at(-1)).toEqual(["adapters", { tensor: "a:0", to: "b", input: 0, pane: "destination" }]);
  model.answer("adapters", []);
  await settled();
  expect(status()).toContain("no adapter fits");
});

test("where no input of an op fits, the adapters of all of them are offered at once", async () => {
  take();
  model.answer("input_candidates", answer({ b: [taker("b", 0, SHAPES, true), taker("b", 1, SHAPES, true), taker("b", 2, "no")] }));
  await settled();
  under = item("b");
  drop();
  await settled();
  expect(model.verbs.slice(-2).map(([, args]) => args)).toEqual(
    [0, 1].map(input => ({ tensor: "a:0", to: "b", input, pane: "destination" })),
  );
});

test("a tensor is dragged from a port: what fits is lit, the others say why not, a drop connects", async () => {
  take();
  expect(model.verbs).toEqual([["input_candidates", { tensor: "a:0", pane: "source" }]]);
  model.answer("input_candidates", answer({ b: [taker("b")], c: [taker("c", 0, "takes int32")] }));
  await settled();
  expect(status()).toContain("1 input in the picture fit");
  expect(item("b").classList.contains("gs-fits")).toBe(true);
  expect(item("c").classList.contains("gs-fits-not")).toBe(true);
  under = item("c");
  mouse(canvas(), "move", { clientX: 70, clientY: 60 });
  expect(tip()).toBe("\u2715 input 0 of c: takes int32");
  under = item("b");
  mouse(canvas(), "move", { clientX: 80, clientY: 60 });
  expect(tip()).toBe("input 0 of b fits. After the drop, the plan is checked");
  expect(item("b").classList.contains("gs-aimed")).toBe(true);
  drop();
  await settled();
  expect(model.verbs.at(-1)).toEqual(["connect", { tensor: "a:0", to: "b", input: 0 }]);
  expect(host.querySelectorAll(".gs-fits, .gs-fits-not, .gs-aimed, .gs-armed").length).toBe(0);
});

test("a drop on an op of several inputs asks which; what does not fit is answer and off", async () => {
  take();
  under = item("b");
  drop();
  model.answer("input_candidates", answer({ b: [taker("b", 0), taker("b", 1, "axis 0 is 2 against 3"), taker("b", 2)] }));
  await settled();
  expect(choices().map(c => [c.textContent, (c as HTMLButtonElement).disabled])).toEqual([
    ["input 0 of b  reads x:0", false],
    ["input 1 of baxis 0 is 2 against 3", true],
    ["input 2 of b  reads x:0", false],
  ]);
  expect(choices()[1]!.querySelector(".gs-why")!.textContent, "in a line of its own").toBe("axis 0 is 2 against 3");
  click(choices()[2]!);
  expect(model.verbs.at(-1)).toEqual(["connect", { tensor: "a:0", to: "b", input: 2 }]);
});

test("a drop on a port of an input is that input", async () => {
  take();
  model.answer("input_candidates", answer({ b: [taker("b", 0), taker("b", 1)] }));
  await settled();
  under = host.querySelectorAll(".gs-port-in")[1]!;
  mouse(canvas(), "move", { clientX: 80, clientY: 60 });
  expect(tip()).toBe("input 1 of b fits. After the drop, the plan is checked");
  drop();
  await settled();
  expect(model.verbs.at(-1)).toEqual(["connect", { tensor: "a:0", to: "b", input: 1 }]);
});

const TWO = {
  scenes: { source: scene([box("a")]), destination: scene([box("p", { x: 300, outputs: 1 }), box("z", { x: 300, y: 100 })]) },
  plan: { ...NO_PLAN, same: false },
};

/** Takes the tensor of a graph that is shown at the left of another. */
function beside(): void {
  open(TWO);
  canvas("destination").getBoundingClientRect = () => ({ left: 400, top: 0, right: 800, bottom: 400, width: 400, height: 400 }) as DOMRect;
  take();
}

test("a tensor of the other graph is copied with what makes it, once that is agreed to", async () => {
  beside();
  model.answer("input_candidates", answer({ z: [taker("z")] }, "destination", 1044));
  await settled();
  under = item("z");
  mouse(canvas(), "move", { clientX: 470, clientY: 60 });
  expect(tip()).toBe("input 0 of z: copies the 1,044 ops that compute it");
  drop(450);
  await settled();
  expect(choices().map(c => c.textContent)).toEqual(["Copy the 1,044 ops that compute it, and connect"]);
  click(choices()[0]!);
  expect(model.verbs.at(-1)).toEqual(["copy_and_connect", { tensor: "a:0", to: "z", input: 0, kinds: [] }]);
});

test("what does not fit is copied and adapted in one step", async () => {
  beside();
  model.answer("input_candidates", answer({ z: [taker("z", 0, SHAPES, true)] }, "destination", 7));
  await settled();
  under = item("z");
  drop(450);
  await settled();
  expect(model.verbs.at(-1)).toEqual(["adapters", { tensor: "a:0", to: "z", input: 0, pane: "source" }]);
  model.answer("adapters", ADAPTERS);
  await settled();
  click(choices()[0]!);
  expect(model.verbs.at(-1)).toEqual(["copy_and_connect", { tensor: "a:0", to: "z", input: 0, kinds: ["dense"] }]);
});

test("a tensor that is dropped on an op without inputs takes its place", async () => {
  beside();
  model.answer("input_candidates", answer({ z: [taker("z")] }, "destination", 1));
  await settled();
  under = item("p");
  mouse(canvas(), "move", { clientX: 470, clientY: 60 });
  expect(tip()).toBe("replace p: copies its producer");
  drop(450);
  await settled();
  click(choices()[0]!);
  expect(model.verbs.at(-1)).toEqual(["copy_and_connect", { tensor: "a:0", to: "p", input: 0, kinds: [] }]);
  open({ scenes: { source: scene([box("a"), box("p", { outputs: 1 })]), destination: null } });
  take();
  model.answer("input_candidates", answer({}));
  await settled();
  under = item("p");
  drop();
  await settled();
  expect(model.verbs.at(-1)).toEqual(["reroute", { old: "p:0", to: "a:0", only: [] }]);
});

test("a refusal begins with the problem, and not with the request that nobody has typed", async () => {
  take();
  const { id } = model.sent.at(-1);
  model.emit("msg:custom", {
    v: 1,
    id,
    ok: false,
    error: { request: "input_candidates('a:0')", problem: "'a:0' is not there", suggestion: "Choose another" },
  });
  await settled();
  expect(status()).toBe("'a:0' is not there. Choose another.");
});

test("a drop on nothing offers what could read it, what is nearest first", async () => {
  take();
  model.answer("input_candidates", answer({ b: [taker("b")], c: [taker("c", 1), taker("c", 0, "no")] }));
  await settled();
  under = canvas();
  drop(240, 120);
  await settled();
  expect(choices().map(c => c.textContent)).toEqual(["input 1 of c  reads x:0", "input 0 of b  reads x:0", "Insert op after it\u2026"]);
  key(document.activeElement!, "Escape");
  expect(item("a").classList.contains("gs-armed")).toBe(false);
});

test("an edge gives its tensor; one that stands for several, or for none, says so", async () => {
  drag(drawing(), 0, 60, { clientX: 0 });
  expect(model.verbs).toEqual([["input_candidates", { tensor: "a:0", pane: "source" }]]);
  drop();
  open({ scenes: { source: scene([box("a"), box("b")], [edge("a", "b", { count: 3 })]), destination: null } });
  drag(drawing(), 0, 60, { clientX: 0 });
  expect(model.verbs).toEqual([]);
  expect(status()).toContain("combines 3 tensors");
});

test("Esc gives a drag up, also one whose answer is still on its way", async () => {
  take();
  key(item("a"), "Escape");
  expect(status()).toContain("Cancelled");
  expect(host.querySelector(".gs-over-line")!.getAttribute("d")).toBe(null);
  model.answer("input_candidates", answer({ b: [taker("b")] }));
  await settled();
  expect(item("b").classList.contains("gs-fits")).toBe(false);
  drop();
  expect(model.verbs.length).toBe(1);
});

test("m, then m is the same by keys; on the box it comes from, all that could read it", async () => {
  item("a").focus();
  key(item("a"), "m");
  expect(item("a").classList.contains("gs-armed")).toBe(true);
  model.answer("input_candidates", answer({ b: [taker("b")], c: [taker("c", 0, "takes int32")] }));
  await settled();
  expect(item("b").classList.contains("gs-fits")).toBe(true);
  key(item("a"), "m");
  expect(choices().map(c => c.textContent)[0]).toBe("input 0 of b  reads x:0");
  click(choices()[0]!);
  expect(model.verbs.at(-1)).toEqual(["connect", { tensor: "a:0", to: "b", input: 0 }]);
  item("a").focus();
  key(item("a"), "m");
  key(item("a"), "Escape");
  expect(item("a").classList.contains("gs-armed")).toBe(false);
  key(item("a"), "m");
  item("c").focus();
  key(item("c"), "m");
  model.answer("input_candidates", answer({ c: [taker("c", 0, "takes int32")] }));
  await settled();
  expect(status()).toBe("Input 0 of c cannot read a:0: takes int32.");
});

test("where no input can read it nothing is asked, and it is said why", async () => {
  item("a").focus();
  key(item("a"), "m");
  model.answer("input_candidates", answer({ c: [taker("c", 0, "that makes a cycle"), taker("c", 1, "that makes a cycle")] }));
  await settled();
  item("c").focus();
  key(item("c"), "m");
  expect([choices().length, status()]).toEqual([0, "Input 0 of c cannot read a:0: that makes a cycle."]);
});

test("between two graphs a tensor is connected where the plan is made", async () => {
  open({
    scenes: { source: scene([box("a"), box("b")]), destination: scene([box("b")]) },
    plan: { ...NO_PLAN, same: false },
  });
  take();
  model.answer("input_candidates", answer({ b: [taker("b")] }, "destination"));
  await settled();
  under = item("b"); // the one of the source
  drop();
  await settled();
  expect(status()).toBe("Connect it in d, on the right.");
});

test("Shift+drag selects the boxes that its frame touches; with Ctrl it adds", () => {
  drag(canvas(), 90, 60, { shiftKey: true });
  expect(item("a").classList.contains("gs-touched")).toBe(true);
  drop(90, 60);
  expect(model.verbs[0]).toEqual(["select", { names: ["a"], mode: "set" }]);
  expect(item("a").classList.contains("gs-touched")).toBe(false);
  drag(canvas(), 300, 130, { shiftKey: true, ctrlKey: true });
  drop(300, 130);
  expect(model.verbs.find(([, args]: any) => args.mode === "add")).toEqual(["select", { names: ["a", "b", "c"], mode: "add" }]);
});

test("Shift+click adds; Ctrl+A selects all; Esc lets go", () => {
  click(item("a"));
  click(item("b"), { shiftKey: true });
  expect([...host.querySelectorAll(".gs-box.gs-selected")].length).toBe(2);
  item("a").focus();
  key(item("a"), "a", { ctrlKey: true });
  expect(model.verbs.filter(([verb]) => verb === "select").at(-1)).toEqual(["select", { names: ["a", "b", "c"], mode: "set" }]);
  model.answer("select");
  model.answer("details");
  key(item("a"), "Escape");
});

const place = () => host.querySelector(".gs-root")!.getAttribute("transform");

test("a drag on the blank canvas pans, as the middle button does", () => {
  for (const more of [{}, { button: 1 }]) {
    const before = place();
    drag(canvas(), 90, 60, more);
    drop(90, 60);
    expect(place()).not.toBe(before);
  }
  expect(model.verbs).toEqual([]);
});

test("the wheel pans once the picture has the focus, and before that scrolls the notebook; with Ctrl it zooms", () => {
  const wheel = (more = {}) => {
    const before = place(),
      event = new WheelEvent("wheel", { deltaY: 30, bubbles: true, cancelable: true, ...more });
    canvas().dispatchEvent(event);
    return [event.defaultPrevented, place() !== before];
  };
  expect(wheel()).toEqual([false, false]);
  expect(wheel({ ctrlKey: true })).toEqual([true, true]);
  item("a").focus();
  expect(wheel()).toEqual([true, true]);
  item("a").blur();
  expect(wheel()).toEqual([false, false]);
  host.querySelector(".gs")!.classList.add("gs-full");
  expect(wheel()).toEqual([true, true]);
});

test("a line says how to move the picture, until it was moved once in this browser", () => {
  const hint = () => host.querySelector<HTMLElement>(".gs-pane-source .gs-hint")!;
  localStorage.clear();
  open();
  expect(hint().hidden).toBe(false);
  expect(hint().textContent).toContain("Shift+drag to select");
  drag(canvas(), 90, 60);
  drop(90, 60);
  expect(hint().hidden).toBe(true);
  open();
  expect(hint().hidden).toBe(true);
});

test("Space over the picture pans while it is held, and selects when it was a mere press", () => {
  canvas().matches = (() => true) as any;
  item("b").focus();
  key(item("b"), " ");
  expect(model.verbs).toEqual([]);
  item("b").dispatchEvent(new KeyboardEvent("keyup", { key: " ", bubbles: true }));
  expect(model.verbs[0]).toEqual(["select", { names: ["b"], mode: "set" }]);
  const sent = model.verbs.length;
  key(item("b"), " ");
  drag(canvas(), 90, 60);
  drop(90, 60);
  item("b").dispatchEvent(new KeyboardEvent("keyup", { key: " ", bubbles: true }));
  expect(model.verbs.length).toBe(sent);
});

test("boundaries near what is selected are drawn while they are pointed at, and marked when chosen", async () => {
  click(item("b"));
  key(item("b"), "k");
  const one = (inputs: string[], boxes: object, text: string) => ({
    ...NO_BOUNDARY,
    inputs: inputs.map(tensor => ({ tensor, text: "" })),
    outputs: [{ tensor: "b:0", text: "" }],
    ops: 2,
    boxes,
    text,
  });
  model.answer("suggest_boundaries", [one(["a:0"], { b: 1 }, "1 in, 1 out"), one([], { a: 1, b: 1 }, "0 in, 1 out")]);
  await settled();
  expect(choices().map(c => c.textContent)).toEqual(["1 in, 1 out", "0 in, 1 out"]);
  expect(item("a").classList.contains("gs-region")).toBe(false);
  expect(item("a").classList.contains("gs-in")).toBe(true);
  choices()[1]!.dispatchEvent(new MouseEvent("pointerenter"));
  expect(item("a").classList.contains("gs-region")).toBe(true);
  key(document.activeElement!, "Escape");
  expect(item("b").classList.contains("gs-region")).toBe(false);
  key(item("b"), "k");
  model.answer("suggest_boundaries", [one(["a:0"], { b: 1 }, "1 in, 1 out")]);
  await settled();
  click(choices()[0]!);
  expect(model.verbs.at(-1)).toEqual(["set_boundary", { inputs: ["a:0"], outputs: ["b:0"] }]);
});

test("a box is dragged to the other pane, which copies it; onto an edge, which inserts it", async () => {
  const two = {
    source: scene([box("a"), box("b", { y: 100 })], [edge("a", "b")]),
    destination: scene([box("z"), box("t")], [edge("z", "t")]),
  };
  open({ scenes: two, plan: { ...NO_PLAN, same: false } });
  const right = canvas("destination");
  canvas().getBoundingClientRect = () => ({ left: 0, top: 0, right: 200, bottom: 400, width: 200, height: 400 }) as DOMRect;
  right.getBoundingClientRect = () => ({ left: 200, top: 0, right: 400, bottom: 400, width: 200, height: 400 }) as DOMRect;
  drag(item("a"), 50, 300);
  expect(tip()).toContain("drop it on an edge, or on the right");
  under = right;
  mouse(canvas(), "move", { clientX: 300, clientY: 50 });
  expect(tip()).toBe("copy a to d");
  expect(right.classList.contains("gs-target")).toBe(true);
  drop(300, 50);
  expect(model.verbs.at(-1)).toEqual(["duplicate", { names: ["a"], pane: "source", to: null, keep_inputs: false }]);
  drag(item("a"), 50, 300);
  under = drawing("destination");
  mouse(canvas(), "move", { clientX: 200, clientY: 20 });
  expect(tip()).toBe("a copy of a after z:0");
  drop(200, 20);
  expect(model.verbs.at(-1)).toEqual(["insert_copy", { names: ["a"], on: "z:0", to: null, pane: "source" }]);
  // the region goes as a whole
  model.update({ boundary: { ...NO_BOUNDARY, ops: 2, boxes: { a: 1, b: 1 } } });
  drag(item("a"), 50, 300);
  under = right;
  mouse(canvas(), "move", { clientX: 300, clientY: 50 });
  expect(tip()).toBe("copy the region to d");
  drop(300, 50);
  expect(model.verbs.at(-1)).toEqual(["copy", { to: null, unmapped: "placeholder", control: "auto" }]);
});

test("what is selected is held, pasted, duplicated and cut by the keys that people know", () => {
  item("a").focus();
  key(item("a"), "c", { ctrlKey: true });
  expect(model.verbs.at(-1)).toEqual(["copy_to_clipboard", { names: ["a"], pane: "source" }]);
  key(item("a"), "v", { ctrlKey: true });
  expect(model.verbs.at(-1)).toEqual(["paste", { to: null, keep_inputs: false }]);
  key(item("a"), "d", { ctrlKey: true });
  expect(model.verbs.at(-1)).toEqual(["duplicate", { names: ["a"], pane: "destination", to: null, keep_inputs: true }]);
  key(item("a"), "x", { ctrlKey: true });
  expect(model.verbs.at(-1)).toEqual(["cut", { names: ["a"] }]);
});

/** x -> id (an Identity) -> a -> b; c -> b; d alone. */
function flow(): void {
  const boxes = ["x", "id", "a", "b", "c", "d"].map((name, i) =>
    box(name, { y: 100 * i, ...(name === "id" && { subtitle: "Identity \u00b7 (2)" }) }),
  );
  const edges = [edge("x", "id"), edge("id", "a"), edge("a", "b"), edge("c", "b")];
  open({ scenes: { source: scene(boxes, edges), destination: null } });
}
const having = (kind: string) => [...host.querySelectorAll<SVGGElement>(`.gs-box.${kind}`)].map(g => g.dataset.name);

test("hovering lights what leads to a box and what comes from it, and asks nobody", () => {
  flow();
  const drawn = (way: string, what: string) => host.querySelector(`.gs-flow.gs-${way} .gs-${what}`)?.getAttribute("d") ?? "",
    ringed = (way: string) => ["x", "id", "a", "b", "c", "d"].filter((_, i) => drawn(way, "ring").includes(`,${100 * i - 5}h`)),
    edges = (way: string) => drawn(way, "line").split("M").length - 1;
  mouse(item("a"), "move");
  expect([ringed("up"), ringed("down")]).toEqual([["x", "id"], ["b"]]);
  expect([edges("up"), edges("down")]).toEqual([2, 1]);
  mouse(canvas(), "move");
  expect([ringed("up"), ringed("down"), edges("up")]).toEqual([[], [], 0]);
  expect(model.verbs).toEqual([]);
});

test("the lens shows only what is near; what hands on is no step; Esc shows all again", () => {
  flow();
  item("a").focus();
  key(item("a"), "q");
  expect(having("gs-away")).toEqual(["c", "d"]);
  const slider = host.querySelector<HTMLInputElement>(".gs-lens input")!;
  expect(host.querySelector(".gs-lens")!.textContent).toBe("1 step away");
  item("b").focus();
  click(item("b"));
  expect(having("gs-away")).toEqual(["x", "d"]);
  slider.value = "9";
  slider.dispatchEvent(new Event("input"));
  expect(having("gs-away")).toEqual(["d"]);
  expect(slider.getAttribute("aria-valuetext")).toContain("everything upstream");
  key(item("b"), "Escape");
  expect(having("gs-away")).toEqual([]);
  expect(host.querySelector<HTMLElement>(".gs-lens")!.hidden).toBe(true);
});

test("the region stands alone with its ports, or else what is selected", () => {
  flow();
  item("a").focus();
  key(item("a"), "Q", { shiftKey: true });
  expect(status()).toContain("Mark a boundary");
  model.update({ boundary: { ...NO_BOUNDARY, inputs: [tensorRow("x:0", "")], ops: 2, boxes: { a: 1, b: 1 } } });
  key(item("a"), "Q", { shiftKey: true });
  expect(having("gs-away")).toEqual(["id", "c", "d"]);
  key(item("a"), "Q", { shiftKey: true });
  expect(having("gs-away")).toEqual([]);
});

test("why one box needs another: the way alone, each step lit, a choice goes there", async () => {
  flow();
  item("a").focus();
  key(item("a"), "u");
  expect(status()).toContain("Select two boxes first");
  click(item("b"));
  click(item("x"), { shiftKey: true });
  key(item("x"), "j");
  expect(model.verbs.at(-1)).toEqual(["select_between", { a: "b", b: "x" }]);
  key(item("x"), "u");
  expect(model.verbs.at(-1)).toEqual(["show_path", { a: "b", b: "x", pane: "source" }]);
  const steps = ["x", "id", "a", "b"].map(op => ({ op, text: `${op} reads` }));
  model.answer("show_path", { text: "b needs x, by 3 steps", steps });
  await settled();
  expect(having("gs-away")).toEqual(["c", "d"]);
  expect(having("gs-aimed")).toEqual(["x"]);
  key(document.activeElement!, "ArrowDown");
  expect(having("gs-aimed")).toEqual(["id"]);
  click(choices()[2]!);
  expect(model.verbs.at(-1)).toEqual(["reveal", { pane: "source", name: "a" }]);
});

test("an op type is dragged from its list onto an edge", async () => {
  const list = async () => {
    click([...host.querySelectorAll(".gs-selection-bar button")].find(b => b.textContent === "Insert op\u2026")!);
    model.answer("op_types", [{ name: "Tanh", doc: "" }]);
    await settled();
    return host.querySelector(".gs-dialog [role=option]")!;
  };
  click(item("c"));
  const type = await list();
  mouse(type, "down", { clientX: 10, clientY: 10 });
  mouse(document.body, "move", { clientX: 12, clientY: 10 });
  host.querySelector<HTMLInputElement>('.gs-dialog [aria-label="Name"]')!.value = "squash ";
  mouse(document.body, "move", { clientX: 300, clientY: 300 });
  expect(host.querySelector(".gs-dialog")).toBe(null);
  expect(tip()).toBe("\u2715 Tanh: drop it on an edge");
  under = drawing();
  mouse(document.body, "move", { clientX: 0, clientY: 20 });
  expect(tip()).toBe("Tanh after a:0");
  expect(host.querySelector(".gs-edge.gs-chosen")).not.toBe(null);
  mouse(document.body, "up", { clientX: 0, clientY: 20 });
  expect(model.verbs.at(-1)).toEqual(["insert", { op: "Tanh", on: "a:0", name: "squash", only: ["b"] }]);
  expect(host.querySelector(".gs-edge.gs-chosen")).toBe(null);
  // Esc cancels the drag, and a drop elsewhere has no effect
  const asked = model.verbs.length;
  mouse(await list(), "down", { clientX: 10, clientY: 10 });
  mouse(document.body, "move", { clientX: 0, clientY: 20 });
  key(document.body, "Escape");
  mouse(document.body, "up", { clientX: 0, clientY: 20 });
  expect(host.querySelector<HTMLElement>(".gs-tip")!.hidden).toBe(true);
  under = null;
  mouse(await list(), "down", { clientX: 10, clientY: 10 });
  mouse(document.body, "move", { clientX: 300, clientY: 300 });
  mouse(document.body, "up", { clientX: 300, clientY: 300 });
  expect(status()).toBe("Tanh: drop it on an edge");
  expect(model.verbs.slice(asked).every(([verb]) => verb === "op_types")).toBe(true);
});

test("F2 renames a box", async () => {
  open();
  item("a").focus();
  key(item("a"), "F2");
  const name = host.querySelector<HTMLInputElement>('.gs-dialog [aria-label="Name"]')!;
  expect(name.value).toBe("a");
  name.value = "b";
  key(name, "Enter");
  await settled();
  expect(model.verbs.at(-1)).toEqual(["rename", { old: "a", to: "b" }]);
});
