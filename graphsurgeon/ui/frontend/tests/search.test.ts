// @vitest-environment jsdom
import { expect, test, vi } from "vitest";
import { box, NO_PLAN, scene } from "./fake";
import { distinct } from "../src/panels/search";
import { click, choices, host, item, key, model, settled, start } from "./mounted";

const input = () => host.querySelector<HTMLInputElement>(".gs-search input")!,
  lines = () => [...host.querySelectorAll<HTMLElement>(".gs-hit")],
  said = () => host.querySelector(".gs-status-text")!.textContent,
  hit = (name: string) => ({ name, label: name, op: "Relu", inside: name }),
  two = (plan = {}) =>
    start({
      scenes: { source: scene([box("a"), box("n/b")]), destination: scene([box("a"), box("z")]) },
      titles: { source: "left", destination: "right" },
      plan: { ...NO_PLAN, ...plan },
    });

async function find(text: string, here: string[], there: string[]): Promise<void> {
  vi.useFakeTimers();
  input().focus();
  input().value = text;
  input().dispatchEvent(new Event("input"));
  vi.advanceTimersByTime(500);
  vi.useRealTimers();
  const [first, second] = model.sent.filter(m => m.verb === "find").slice(-2);
  const tell = (id: number, names: string[]) =>
    model.emit("msg:custom", {
      v: 1,
      id,
      ok: true,
      result: { hits: names.map(hit), total: names.length, boxes: Object.fromEntries(names.map(n => [n, 1])) },
    });
  tell(first!.id, here);
  tell(second!.id, there);
  await settled();
  await settled();
}

test("both panes are searched; a hit that is clicked is gone to, with the keyboard, and the list stays", async () => {
  two({ same: false });
  await find("a", ["a", "n/b"], ["a", "z"]);
  expect([...host.querySelectorAll(".gs-hits-of")].map(e => e.textContent)).toEqual(["left", "right"]);
  expect(lines().map(e => e.textContent)).toEqual(["aRelu", "n/bRelu", "aRelu", "zRelu"]);
  expect(lines()[1]!.querySelector(".gs-hit-path")!.textContent).toBe("n/");
  expect(host.querySelectorAll(".gs-pane-destination .gs-hit-box").length).toBe(2);
  click(lines()[3]!);
  expect(model.verbs.at(-1)).toEqual(["reveal", { pane: "destination", name: "z" }]);
  expect(host.querySelector<HTMLElement>(".gs-hits")!.hidden).toBe(false);
  // the keyboard goes along: Del means the box
  model.emit("msg:custom", { v: 1, id: model.sent.at(-1).id, ok: true, result: null });
  await settled();
  key(document.activeElement!, "Delete");
  expect(model.verbs.at(-1)).toEqual(["remove", { names: ["z"], stitch: true }]);
});

test("the list stands above the inspector and stays when the picture is used; without an inspector it hangs below the field", async () => {
  two({ same: false });
  await find("a", ["a"], ["z"]);
  const drop = () => host.querySelector<HTMLElement>(".gs-drop")!,
    press = (name: string) => click(host.querySelector(`button[title="${name}"]`)!);
  expect(drop().parentElement).toBe(host.querySelector(".gs-inspector")!.parentElement);
  key(input(), "Enter");
  item("a").focus();
  await new Promise(done => setTimeout(done, 200));
  expect([drop().hidden, drop().querySelector(".gs-hits-head")!.textContent]).toEqual([false, "1 hit"]);
  press("Inspector");
  expect([drop().parentElement!.className, drop().hidden]).toEqual(["gs-search", true]);
  press("Inspector");
  press("Hide results (Esc)");
  expect([drop().hidden, input().value, host.querySelectorAll(".gs-hit-box").length]).toEqual([true, "", 0]);
});

test("what a preview has of its source is listed once", async () => {
  two({ same: true });
  await find("a", ["a", "n/b"], ["a", "n/b", "z"]);
  expect(lines().map(e => e.textContent)).toEqual(["aRelu", "n/bRelu", "zRelu"]);
});

test("a word that no name holds may be a type: that is said with what to type", async () => {
  two({ same: false });
  const note = () => host.querySelector(".gs-hits-note")!.textContent;
  await find("sum", [], []);
  expect(note()).toMatch(/^Nothing found by name; op:sum searches by type\. Try net\/\*, /);
  await find("op:sum", [], []);
  expect(note()).toMatch(/^Nothing found\. Try /);
});

test("an empty field shows the forms of a query", () => {
  two({ same: false });
  const described = document.getElementById(input().getAttribute("aria-describedby")!)!;
  expect(described.textContent).toBe("name, net/*, op:Conv2D, shape:?x8, attr:padding=SAME");
  expect(described.previousElementSibling).toBe(input());
});

test("F3 goes to the next hit and Shift+F3 to the one before, from the picture too; Esc takes the hits out of it", async () => {
  two({ same: false });
  await find("a", ["a", "n/b"], ["z"]);
  item("a").focus();
  const gone = () => (model.verbs.at(-1)![1] as { name: string }).name;
  key(item("a"), "F3");
  expect(gone()).toBe("n/b");
  key(item("a"), "F3");
  key(item("a"), "F3");
  expect(gone()).toBe("a");
  key(item("a"), "F3", { shiftKey: true });
  expect(gone()).toBe("z");
  for (const { verb, id } of model.sent) if (verb === "reveal") model.emit("msg:custom", { v: 1, id, ok: true, result: null });
  await settled();
  key(item("a"), "Escape");
  expect([host.querySelectorAll(".gs-hit-box").length, input().value]).toEqual([0, ""]);
});

test("hits are marked in a picture that has changed since", async () => {
  two({ same: false });
  await find("a", ["a"], ["z"]);
  const before = model.sent.filter(m => m.verb === "find").length;
  model.update({ scenes: { source: { ...scene([box("a")]), rev: "2" }, destination: scene([box("z")]) } });
  expect(model.sent.filter(m => m.verb === "find").length).toBe(before + 2);
});

test("no mark is made in another graph than the one that is copied from", () => {
  two({ same: false });
  const there = host.querySelector<SVGGElement>('.gs-pane-destination [data-name="z"]')!;
  there.focus();
  key(there, "o");
  expect(said()).toBe("Mark the boundary in left, on the left.");
  expect(model.verbs.map(([verb]) => verb)).not.toContain("mark_output");
  there.dispatchEvent(new MouseEvent("contextmenu", { bubbles: true, cancelable: true }));
  const mark = choices().find(c => c.textContent!.startsWith("Mark as boundary output"))!;
  expect(mark.getAttribute("aria-disabled") ?? String((mark as HTMLButtonElement).disabled)).toBe("true");
});

test("the inspector shows no marks of the source on an op of another graph", async () => {
  two({ same: false });
  click(host.querySelector('.gs-pane-destination [data-name="a"]')!);
  const details = {
    title: "a",
    rows: [],
    inputs: [],
    outputs: [{ tensor: "a:0", text: "" }],
    totals: {},
    control_inputs: [],
    consumers: [],
    doc: "",
    histogram: null,
    value: false,
  };
  model.answer("details", details);
  await settled();
  expect(host.querySelectorAll(".gs-inspector .gs-tensor-marks").length).toBe(0);
  click(host.querySelector('.gs-pane-source [data-name="a"]')!);
  model.answer("details", details);
  await settled();
  expect(host.querySelectorAll(".gs-inspector .gs-tensor-marks").length).toBe(1);
});

test("Enter before the answer takes the hit of what is typed now, not of what was searched before", async () => {
  two({ same: false });
  await find("a", ["a"], []);
  vi.useFakeTimers();
  input().value = "z";
  input().dispatchEvent(new Event("input"));
  vi.advanceTimersByTime(500);
  vi.useRealTimers();
  const before = model.verbs.length;
  key(input(), "Enter");
  expect(model.verbs.slice(before).map(([verb]) => verb)).not.toContain("reveal");
});

test("hits with one long beginning show where they differ, and the words that were typed in bold", async () => {
  two();
  const names = [1, 2, 3].map(i => `resnet_v2_101/block4/unit_${i}/bottleneck_v2/conv1/Conv2D`);
  await find("op:Conv2D Conv block4", names, []);
  expect(lines().map(e => e.querySelector(".gs-hit-name")!.textContent)).toEqual(
    [1, 2, 3].map(i => `\u2026/unit_${i}/bottleneck_v2/conv1/Conv2D`),
  );
  expect(lines()[0]!.title).toBe(names[0]);
  expect([...lines()[0]!.querySelectorAll("b")].map(e => e.textContent)).toEqual(["conv", "Conv"]);
});

test("a name is cut in its middle, unless that is where names differ", () => {
  const long = (middle: string) => `first/${"a".repeat(50)}${middle}${"b".repeat(60)}/last`;
  expect(distinct([long("x")])).toEqual([`${long("x").slice(0, 25)}\u2026${long("x").slice(-58)}`]);
  expect(distinct([long("x"), long("y")])).toEqual([`\u2026/${long("x").slice(6)}`, `\u2026/${long("y").slice(6)}`]);
  expect(distinct(["net/a", "net/b"])).toEqual(["net/a", "net/b"]);
  expect(distinct([`net/${"a".repeat(40)}/`, `net/${"a".repeat(40)}/b`])).toEqual([
    `\u2026/${"a".repeat(40)}/`,
    `\u2026/${"a".repeat(40)}/b`,
  ]);
});

test("op types that a query asks for are bold; patterns and excluded words are not", async () => {
  two();
  await find("op:Re* -z", ["a(b"], []);
  expect([...lines()[0]!.querySelectorAll("b")].map(e => e.textContent)).toEqual(["Re"]);
  await find("a(", ["a(b"], []);
  expect([...lines()[0]!.querySelectorAll("b")].map(e => e.textContent)).toEqual(["a("]);
});

test("after the graph has changed, the list shows its new hits, and stays at the same one", async () => {
  start({ scenes: { source: scene([box("a"), box("ab"), box("ac")]), destination: null } });
  const answer = async (names: string[]) => {
      const boxes = Object.fromEntries(names.map(n => [n, 1]));
      model.answer("find", { hits: names.map(hit), total: names.length, boxes });
      await settled();
      await settled();
    },
    on = () => host.querySelector(".gs-hit.gs-on")!.textContent;
  vi.useFakeTimers();
  input().focus();
  input().value = "a";
  input().dispatchEvent(new Event("input"));
  vi.advanceTimersByTime(500);
  vi.useRealTimers();
  await answer(["a", "ab", "ac"]);
  key(input(), "ArrowUp");
  expect(on()).toBe("acRelu");
  model.update({ scenes: { source: scene([box("a"), box("ac"), box("ad")]), destination: null } });
  await settled();
  await answer(["a", "ac", "ad"]);
  expect(lines().map(e => e.textContent)).toEqual(["aRelu", "acRelu", "adRelu"]);
  expect(on()).toBe("acRelu");
});
