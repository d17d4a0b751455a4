// A run: its form, its panel, and what the inspector shows of it.
import { beforeEach, expect, test } from "vitest";
import { box, NO_PLAN, scene } from "./fake";
import { choices, click, drawing, host, item, key, model, settled, start } from "./mounted";
import type { Field, RunReport, TensorValues } from "../src/model/types.generated";

const RUN: RunReport = {
  line: "3 tensors; first not finite: b:0",
  pane: "source",
  stop_reason: "",
  bad: { op: "b", text: "float32 (2), 1 infinite, by Log", inputs: ["a:0  float32 (2), 50 % zeros"], path: ["b", "a"] },
  outputs: [
    {
      tensor: "b:0",
      text: "float32 (1, 2)",
      values: [
        ["0", "0.2", 0.25],
        ["1", "0.8", 1],
      ],
      picture: "",
    },
    { tensor: "a:0", text: "uint8 (8, 8, 3)", values: [], picture: "data:image/png;base64,AAAA" },
  ],
  first_difference: null,
  tops: { ms: [["b", "2 ms"]], bytes: [["a", "8 bytes"]] },
  code: "trace = ed.trace(random=0)",
};
const HELD: TensorValues = {
  tensor: "a:0",
  rows: [["held", "float32 (2,)"]],
  histogram: { counts: [1, 1], low: 0, high: 1 },
  picture: "data:image/png;base64,AAAA",
  more: false,
};
const SEED: Field = { name: "seed", label: "Random seed", value: "0", hint: "", type: "number" };
const LIMITS: Field[] = ["limit", "memory"].map(name => ({ name, label: name, value: "", hint: "none", type: "number" }));
const PARTS: [string, string][] = [
  ["graph", "the graph"],
  ["selection", "the selection"],
];
const PART: Field = { name: "target", label: "Part to run", value: "graph", hint: "", options: PARTS };
const LOOK = {
  shown: [],
  hidden: [],
  training: true,
  by: "values",
  name: "not finite",
  faded: [],
  budget: 200,
  plan_view: "both" as const,
};

const panel = () => host.querySelector<HTMLElement>(".gs-panel")!;
const named = (text: string) => [...host.querySelectorAll<HTMLElement>("button")].find(b => b.textContent === text)!;
const last = () => model.verbs.at(-1);

beforeEach(() => start());

test("the form asks for each placeholder, offers what fits, and sends what was typed", async () => {
  key(item("a"), "x");
  expect(last()).toEqual(["run_form", { target: "graph" }]);
  const feeds = [
    { name: "x:0", label: "x:0  float32 (?, 2)", value: "", hint: "random (1, 2)", names: ["batch"] },
    { name: "y:0", label: "y:0  string (?,)", value: "", hint: "random (1, 3), a name, a file or numbers", names: [] },
  ];
  model.answer("run_form", { feeds, fields: [SEED, ...LIMITS], target: "graph", risk: "" });
  await settled();
  const fields = [...host.querySelectorAll<HTMLInputElement>(".gs-dialog input")];
  expect(fields.map(f => f.placeholder)).toEqual(["random (1, 2)", "random (1, 3), a name, a file or numbers", "", "none", "none"]);
  expect([...fields[0]!.list!.options].map(o => o.value)).toEqual(["batch"]);
  fields[1]!.value = "['a']";
  fields[2]!.value = "7";
  key(fields[1]!, "Enter");
  expect(last()).toEqual(["run", { feeds: { "y:0": "['a']" }, target: "graph", seed: 7, limit: 0, memory: 0 }]);
  model.update({ run: RUN, look: LOOK } as any);
  model.answer("run", { line: RUN.line });
  await settled();
  expect(panel().textContent).toContain("first not finite");
});

test("a stranger's graph is run when somebody has read what it would do, and says so", async () => {
  const risk = "m.pb came from a file. It holds 1 op that writes files, 'evil' (WriteFile).";
  click(named("Run"));
  model.answer("run_form", { feeds: [], fields: LIMITS, target: "graph", risk });
  await settled();
  const dialog = host.querySelector<HTMLElement>(".gs-dialog")!;
  expect(dialog.querySelector('[role="alert"]')!.textContent).toBe(risk);
  const answer = dialog.querySelector<HTMLElement>(".gs-primary")!;
  expect(answer.textContent).toBe("Run anyway");
  click(answer);
  expect(last()).toEqual(["trust", { target: "graph" }]);
  model.answer("trust", null);
  await settled();
  expect(last()).toEqual(["run", { feeds: {}, target: "graph", seed: 0, limit: 0, memory: 0 }]);
});

test("where something is selected it can be run alone", async () => {
  click(named("Run"));
  model.answer("run_form", { feeds: [], fields: [PART, ...LIMITS], target: "graph", risk: "" });
  await settled();
  const choice = host.querySelector<HTMLSelectElement>(".gs-dialog select")!;
  choice.value = "selection";
  click(host.querySelector(".gs-dialog .gs-primary")!);
  expect(model.verbs.find(([verb]) => verb === "run")).toEqual(["run", { feeds: {}, target: "selection", seed: 0, limit: 0, memory: 0 }]);
});

test("the panel goes to ops, colors by what is pressed, and back", () => {
  model.update({ run: RUN, look: LOOK } as any);
  click(host.querySelector('[data-tab="run"]')!);
  expect(panel().textContent).toContain("50 % zeros");
  expect(named("Not finite").getAttribute("aria-pressed")).toBe("true");
  click(named("Memory"));
  expect(last()).toEqual(["paint", { by: "bytes" }]);
  click(named("Not finite"));
  expect(last()).toEqual(["paint", { by: "family" }]);
  click([...panel().querySelectorAll(".gs-link")].find(b => b.textContent === "a")!);
  expect(last()).toEqual(["reveal", { pane: "source", name: "a" }]);
  click(named("Clear the run"));
  expect(last()).toEqual(["clear_run", {}]);
  model.update({ run: {} });
  expect(host.querySelector('[data-tab="run"]')).toBe(null);
});

test("the menu of colors has those of a run once there is one", () => {
  const colors = () => {
    click(host.querySelector('[aria-label="Colors"]')!);
    return choices().map(c => c.textContent);
  };
  expect(colors()).not.toContain("Time (run)");
  model.update({ run: RUN, look: LOOK } as any);
  expect(colors()).toContain("Time (run)");
  expect(colors()).toContain("\u2713 Not finite (run)");
});

test("the inspector shows what the tensors of a box held, with their picture", async () => {
  model.update({ run: RUN } as any);
  click(item("a"));
  model.answer("details", {
    title: "Relu", rows: [], inputs: [], outputs: [{ tensor: "a:0", text: "" }], totals: {}, control_inputs: [], consumers: [], doc: "", run: [HELD],
  }); // prettier-ignore
  await settled();
  const held = host.querySelector(".gs-held")!;
  expect(held.textContent).toContain("In this run :0");
  expect(held.textContent).toContain("float32 (2,)");
  expect(held.querySelector("img")!.alt).toBe("Picture of a:0");
  expect(held.querySelectorAll("rect").length).toBe(2);
});

test("and those of an edge, by name; a picture is a picture and nothing else", async () => {
  model.update({ run: RUN } as any);
  click(drawing());
  expect(last()).toEqual(["edge_tensors", { source: "a", target: "b", control: false, pane: "source" }]);
  model.answer("edge_tensors", { tensors: [], values: [HELD, { ...HELD, tensor: "b:0", picture: "javascript:alert(1)" }] });
  await settled();
  const held = [...host.querySelectorAll(".gs-held")];
  expect(held.map(e => e.querySelector("h4")!.textContent)).toEqual(["In this run a:0", "In this run b:0"]);
  expect(held.map(e => e.querySelectorAll("img").length)).toEqual([1, 0]);
});

test("all of a large tensor comes when it is asked for", async () => {
  model.update({ run: RUN } as any);
  click(drawing());
  model.answer("edge_tensors", { tensors: [], values: [{ ...HELD, picture: "", more: true }] });
  await settled();
  expect(host.querySelector(".gs-held img")).toBe(null);
  click(named("Show its picture"));
  expect(last()).toEqual(["fetch", { tensor: "a:0" }]);
  model.answer("fetch", HELD);
  await settled();
  expect(host.querySelectorAll(".gs-held img").length).toBe(1);
  expect(host.querySelector(".gs-held h4")!.textContent).toBe("In this run a:0");
});

test("Run is about the graph of the active pane", () => {
  const [one, two] = [scene([box("a")]), scene([box("b")])];
  start({ scenes: { source: one, destination: two }, plan: { ...NO_PLAN, same: false } });
  click(host.querySelector(".gs-pane-destination .gs-item")!);
  key(host.querySelector<HTMLElement>(".gs-pane-destination .gs-item")!, "x");
  expect(last()).toEqual(["run_form", { target: "destination" }]);
  model.update({ plan: { ...NO_PLAN, same: false, steps: [{ text: "copy", muted: false }] } });
  key(host.querySelector<HTMLElement>(".gs-pane-destination .gs-item")!, "x");
  expect(last()).toEqual(["run_form", { target: "plan" }]);
});
