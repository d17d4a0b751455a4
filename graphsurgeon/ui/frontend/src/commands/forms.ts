// The forms that the kernel fills in: for saves, runs and recipes.
import type { Actions } from "./actions";
import { CommandError } from "../model/api";
import type { Position } from "../panels/parts";
import type { Choice, Values } from "../panels/popup";
import type { RecipeEntry, RunForm, Verbs } from "../model/types.generated";

/** Opens the form, saves, and shows the report of the save. */
export async function openSaveForm(actions: Actions): Promise<void> {
  const form = await actions.send("save_form", {}),
    { popup, plan } = actions;
  const save = async (args: Verbs["save"]) => {
    const { existing } = await actions.call("save", args);
    if (existing) popup.form("Save", [], "Replace", () => save({ ...args, if_exists: "replace" }), "", existing);
    else plan.show("saved");
  };
  if (form) popup.form("Save", form.fields, "Save", values => save(values as Verbs["save"]), "", form.note);
}

const RUN: [string, string] = ["Run the graph", "Run"];
const TITLES: Partial<Record<RunForm["target"], [string, string]>> = {
  plan: ["Try the plan", "Try"],
  applied: ["Compare with the graph before the plan", "Compare"],
};

/** Opens the form for feeds, and runs the graph of the active pane, or the graph after the plan. */
export async function openRunForm(actions: Actions, given: RunForm["target"] = "graph"): Promise<void> {
  const { same, steps } = actions.model.get("plan"),
    other = given === "graph" && !same && actions.pane.name === "destination",
    target = other ? (steps.some(s => !s.muted) ? "plan" : "destination") : given,
    alone = target === "graph" && actions.selected.source.size;
  const form = (await actions.send("run_form", { target })) ?? (alone ? await actions.send("run_form", { target: "selection" }) : null);
  if (!form) return;
  const [title, yes] = TITLES[target] ?? RUN,
    submit = form.risk ? `${yes} anyway` : yes;
  actions.popup.form(title, [...form.feeds, ...form.fields], submit, v => run(actions, form, v), "", form.risk);
}

async function run(actions: Actions, { feeds: fields, target: shown, risk }: RunForm, v: Values): Promise<void> {
  const { target = shown, seed = 0, limit, memory } = v,
    feeds = Object.fromEntries(fields.map(f => [f.name, v[f.name]]).filter(([, text]) => text));
  if (risk) await actions.call("trust", { target });
  await actions.call("run", { feeds, target, seed, limit, memory });
  const { run, panes } = actions,
    { destination } = panes;
  actions.plan.show("run");
  // the camera of the source follows the selection of Python; the destination has no selection of Python
  const op = run?.pane === "destination" && (run.bad?.op || run.first_difference?.op);
  if (op) {
    destination.goTo(op, false);
    destination.arrive();
  }
}

const TARGETS: [Verbs["check"]["target"], string][] = [
  ["tflite", "TFLite"],
  ["tfjs", "TF.js"],
];

/** The menu of the recipes that apply, and of the targets that the graph can be checked for; its last line leads to the other recipes. */
export async function openRecipes(actions: Actions, at?: Position): Promise<void> {
  const choices = await recipeChoices(actions),
    others = choices.filter(c => c.off),
    { popup } = actions;
  if (!choices.length) return; // the status line has the error
  const more: Choice = {
    text: `${others.length} ${others.length === 1 ? "recipe does" : "recipes do"} not apply\u2026`,
    group: "Others",
    run: () => popup.choose("Recipes that do not apply", others, at),
  };
  popup.choose("Recipes", [...choices.filter(c => !c.off), others.length > 0 && more], at);
}

/** All recipes and targets. A recipe that does not apply has the reason. */
export async function recipeChoices(actions: Actions): Promise<Choice[]> {
  const found = await actions.send("recipes", {});
  if (!found) return [];
  const outputs = found.flatMap(r => r.form).find(f => f.name === "outputs")?.value ?? "",
    report = () => actions.plan.show("saved");
  return [
    ...found.map(recipe => ({
      text: recipe.summary + (recipe.form.length ? "\u2026" : ""),
      group: recipe.group,
      off: recipe.unavailable_reason !== "",
      why: recipe.unavailable_reason,
      run: () => openRecipe(actions, recipe),
    })),
    ...TARGETS.map(([target, name]) => ({
      text: `Check for ${name}\u2026`,
      group: "Targets",
      run: () => actions.form(`Check for ${name}`, "check", "Check", { target }, { outputs }, report),
    })),
  ];
}

function openRecipe(actions: Actions, { name, summary, description, form, adds_steps }: RecipeEntry): void {
  const done = async (values: Values) => {
    await actions.call("run_recipe", { name, values });
    actions.plan.show(actions.model.get("plan").steps.length ? "steps" : "saved");
  };
  if (form.length) return actions.popup.form(summary, form, adds_steps ? "Add to plan" : "Run recipe", done, description);
  void done({}).catch(error => {
    if (!(error instanceof CommandError)) throw error; // the status line has the error
  });
}
