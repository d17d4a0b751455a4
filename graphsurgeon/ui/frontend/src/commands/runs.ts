// Runs: the form before a run.
import type { Actions } from "./actions";
import { FORMS } from "../model/forms.generated";
import type { Values } from "../panels/popup";
import type { RunForm } from "../model/types.generated";

const RUN: [string, string] = ["Run the graph", "Run"];
const TITLES: Partial<Record<RunForm["target"], [string, string]>> = {
  plan: ["Try the plan", "Try"],
  applied: ["Compare with the graph before the plan", "Compare"],
};

const PARTS: [string, string][] = [
  ["graph", "the graph"],
  ["selection", "the selection and its inputs"],
];

export class Runs {
  constructor(private readonly actions: Actions) {}

  /** Opens the form for feeds, and runs the graph of the active pane, or the graph after the plan. */
  async open(given: RunForm["target"] = "graph"): Promise<void> {
    const actions = this.actions,
      { same, steps } = actions.model.get("plan"),
      target =
        given === "graph" && !same && actions.pane.name === "destination" ? (steps.some(s => !s.muted) ? "plan" : "destination") : given,
      alone = target === "graph" && actions.selected.source.size;
    const form = (await actions.send("run_form", { target })) ?? (alone ? await actions.send("run_form", { target: "selection" }) : null);
    if (!form) return;
    const [title, yes] = TITLES[target] ?? RUN;
    const part = { name: "target", label: "Part to run", value: "graph", options: PARTS },
      fields = [
        ...form.feeds,
        ...(form.selected && form.target === "graph" ? [part] : []),
        // without a placeholder, there are no random values
        ...FORMS.run.filter(f => form.feeds.length || f.name !== "seed"),
      ];
    actions.popup.form(title, fields, form.risk ? `${yes} anyway` : yes, v => this.#run(form, v), "", form.risk);
  }

  async #run({ feeds: fields, target: shown, risk }: RunForm, v: Values): Promise<void> {
    const { target = shown, seed = 0, limit, memory } = v,
      feeds = Object.fromEntries(fields.map(f => [f.name, v[f.name]]).filter(([, text]) => text));
    if (risk) await this.actions.call("trust", { target });
    await this.actions.call("run", { feeds, target, seed, limit, memory });
    const { plan, panes, model } = this.actions,
      run = model.get("run");
    plan.show("run");
    // the camera of the source follows the selection of Python; the destination has no selection of Python
    const op = run && "pane" in run && run.pane === "destination" && (run.bad?.op || run.first_difference?.op);
    if (op) {
      panes.destination.goTo(op, false);
      panes.destination.arrive();
    }
  }
}
