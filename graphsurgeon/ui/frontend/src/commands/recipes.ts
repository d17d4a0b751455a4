// Recipes: common tasks in one menu; a recipe that does not apply shows the reason.
import type { Actions } from "./actions";
import { CommandError } from "../model/api";
import type { Choice, Values } from "../panels/popup";
import type { Position } from "../panels/parts";
import type { RecipeEntry, Verbs } from "../model/types.generated";

const TARGETS: [Verbs["check"]["target"], string][] = [
  ["tflite", "TFLite"],
  ["tfjs", "TF.js"],
];

export class Recipes {
  constructor(private readonly actions: Actions) {}

  /** The menu of the recipes that apply, and of the targets that the graph can be checked for; its last line leads to the other recipes. */
  async menu(at?: Position): Promise<void> {
    const choices = await this.choices(),
      others = choices.filter(c => c.off),
      { popup } = this.actions;
    if (!choices.length) return; // the status line has the error
    const more: Choice = {
      text: `${others.length} ${others.length === 1 ? "recipe does" : "recipes do"} not apply\u2026`,
      group: "Others",
      run: () => popup.choose("Recipes that do not apply", others, at),
    };
    popup.choose("Recipes", [...choices.filter(c => !c.off), ...(others.length ? [more] : [])], at);
  }

  /** All recipes and targets. */
  async choices(): Promise<Choice[]> {
    const found = await this.actions.send("recipes", {});
    if (!found) return [];
    const outputs = found.flatMap(r => r.form).find(f => f.name === "outputs")?.value ?? "";
    return [
      ...found.map((recipe): Choice => ({
        text: recipe.summary + (recipe.form.length ? "\u2026" : ""),
        group: recipe.group,
        off: recipe.unavailable_reason !== "",
        why: recipe.unavailable_reason,
        run: () => this.#ask(recipe),
      })),
      ...TARGETS.map(([target, name]): Choice => ({
        text: `Check for ${name}\u2026`,
        group: "Targets",
        run: () => this.#check(target, name, outputs),
      })),
    ];
  }

  #ask(recipe: RecipeEntry): void {
    const done = async (values: Values) => {
      await this.actions.call("run_recipe", { name: recipe.name, values });
      this.actions.plan.show(this.actions.model.get("plan").steps.length ? "steps" : "saved");
    };
    if (!recipe.form.length)
      return void done({}).catch(error => {
        if (!(error instanceof CommandError)) throw error; // the status line has the error
      });
    this.actions.popup.form(recipe.summary, recipe.form, recipe.adds_steps ? "Add to plan" : "Run recipe", done, recipe.description);
  }

  /** Runs the converter of a target, and shows its report. */
  #check(target: Verbs["check"]["target"], name: string, outputs: string): void {
    this.actions.form(`Check for ${name}`, "check", "Check", { target }, { outputs }, () => this.actions.plan.show("saved"));
  }
}
