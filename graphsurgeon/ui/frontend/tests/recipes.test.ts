// The menu of recipes: what applies, what does not and why; and the checks for targets.
import { beforeEach, expect, test } from "vitest";
import { click, host, item, key, model, settled, start } from "./mounted";
import type { RecipeEntry } from "../src/model/types.generated";

const FIELD = { name: "at", label: "At", value: "", hint: "" };
const OUTPUTS = { name: "outputs", label: "Outputs", value: "y:0", hint: "" };
const FOUND: RecipeEntry[] = [
  { name: "strip_dropout", summary: "Remove dropout", description: "", group: "Strip", unavailable_reason: "", adds_steps: true, form: [] },
  {
    name: "strip_quantization",
    summary: "Remove FakeQuant",
    description: "",
    group: "Strip",
    unavailable_reason: "it has no FakeQuant",
    adds_steps: true,
    form: [],
  },
  {
    name: "split_at",
    summary: "Split it in two",
    description: "Splits it.",
    group: "Parts",
    unavailable_reason: "",
    adds_steps: false,
    form: [FIELD, OUTPUTS],
  },
];

const last = () => model.verbs.at(-1);
const entries = () => [...host.querySelectorAll<HTMLButtonElement>(".gs-choice")];
const entry = (text: string) => entries().find(b => b.textContent!.includes(text))!;

beforeEach(async () => {
  start();
  key(item("a"), "R", { shiftKey: true });
  expect(last()).toEqual(["recipes", {}]);
  model.answer("recipes", FOUND);
  await settled();
});

test("recipes that do not apply are behind one line, with the reasons", () => {
  expect(entries().map(b => b.textContent)).toEqual([
    "Remove dropout",
    "Split it in two\u2026",
    "Check for TFLite\u2026",
    "Check for TF.js\u2026",
    "1 recipe does not apply\u2026",
  ]);
  click(entry("not apply"));
  expect(entries().map(b => b.disabled)).toEqual([true]);
  expect(entry("FakeQuant").textContent).toBe("Remove FakeQuantit has no FakeQuant");
  expect(entry("FakeQuant").title).toBe("it has no FakeQuant");
});

test("typed letters go to the next item that begins with them", () => {
  const menu = host.querySelector<HTMLElement>(".gs-menu")!,
    type = (...letters: string[]) => letters.forEach(letter => key(menu, letter));
  type("c");
  expect(document.activeElement!.textContent).toBe("Check for TFLite\u2026");
  type(..."heck for tf.");
  expect(document.activeElement!.textContent).toBe("Check for TF.js\u2026");
  key(menu, "s", { ctrlKey: true });
  expect(document.activeElement!.textContent).toBe("Check for TF.js\u2026");
});

test("letters with which no item begins go to an item with such a word", () => {
  const menu = host.querySelector<HTMLElement>(".gs-menu")!;
  for (const letter of "drop") key(menu, letter);
  expect(document.activeElement!.textContent).toContain("dropout");
});

test("a recipe that asks for nothing is done at once; another has a form", async () => {
  click(entry("dropout"));
  expect(last()).toEqual(["run_recipe", { name: "strip_dropout", values: {} }]);
  model.answer("run_recipe", { line: "done" });
  await settled();
  key(item("a"), "R", { shiftKey: true });
  model.answer("recipes", FOUND);
  await settled();
  click(entry("Split"));
  const [at, outputs] = [...host.querySelectorAll<HTMLInputElement>(".gs-dialog input")];
  expect(outputs!.value).toBe("y:0");
  expect(host.querySelector(".gs-dialog p")!.textContent).toBe("Splits it.");
  expect(host.querySelector(".gs-dialog .gs-primary")!.textContent).toBe("Run recipe");
  at!.value = "features:0";
  key(at!, "Enter");
  expect(last()).toEqual(["run_recipe", { name: "split_at", values: { at: "features:0", outputs: "y:0" } }]);
});

test("a target is asked with the outputs of what was opened", async () => {
  click(entry("TFLite"));
  const dialog = host.querySelector<HTMLElement>(".gs-dialog")!;
  dialog.querySelector("select")!.value = "yes";
  click(dialog.querySelector<HTMLElement>(".gs-primary")!);
  expect(last()).toEqual(["check", { target: "tflite", outputs: "y:0", inputs: "", verify: true }]);
  const shown = { title: "Check", lines: ["net: nothing keeps its 9 ops from TFLite"], code: "ed.check('tflite')" };
  model.update({ plan: { ...model.get("plan"), saved: shown } } as any);
  model.answer("check", shown);
  await settled();
  expect(host.querySelector(".gs-panel")!.textContent).toContain("nothing keeps its 9 ops");
});

test("a refused list of recipes opens no menu: the status line has the reason", async () => {
  key(host.querySelector(".gs-menu")!, "Escape");
  key(item("a"), "R", { shiftKey: true });
  model.refuse("recipes", "it has no source");
  await settled();
  expect(host.querySelector(".gs-menu")).toBe(null);
  expect(host.querySelector(".gs-status-text")!.textContent).toContain("it has no source");
});
