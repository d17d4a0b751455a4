// Runs: the form before a run.
import type { Actions } from "./actions";
import type { Field } from "../panels/popup";
import type { RunForm } from "../model/types.generated";

const RUN: [string, string] = ["Run the graph", "Run"];
const TITLES: Partial<Record<RunForm["target"], [string, string]>> = {
  plan: ["Try the plan", "Try"],
  applied: ["Compare with the graph before the plan", "Compare"],
};

export class Runs {
  constructor(private readonly actions: Actions) {}

  /** Opens the form for feeds, and runs the graph of the active pane, or the graph after the plan. */
  async open(given: RunForm["target"] = "graph"): Promise<void> {
    const actions = this.actions,
      { same, steps } = actions.ui.model.get("plan"),
      target =
        given === "graph" && !same && actions.pane.name === "destination" ? (steps.some(s => !s.muted) ? "plan" : "destination") : given,
      alone = target === "graph" && actions.selected.source.size;
    const form = (await actions.send("run_form", { target })) ?? (alone ? await actions.send("run_form", { target: "selection" }) : null);
    if (!form) return;
    const [title, yes] = TITLES[target] ?? RUN;
    actions.ui.popup.form(title, fields(form), form.risk ? `${yes} anyway` : yes, v => this.#run(form, v), "", form.risk);
  }

  async #run(form: RunForm, v: Record<string, string>): Promise<void> {
    const feeds = Object.fromEntries(form.feeds.map(f => [f.tensor, v[f.tensor]!] as const).filter(([, text]) => text));
    const target = (v[" of"] ?? form.target) as RunForm["target"];
    if (form.risk) await this.actions.call("trust", { target });
    await this.actions.call("run", { feeds, target, seed: number(v[" seed"]), limit: number(v[" limit"]), memory: number(v[" memory"]) });
    const { ui: p } = this.actions,
      run = p.model.get("run");
    p.plan.show("run");
    // the camera of the source follows the selection of Python; the destination has no selection of Python
    const op = run && "pane" in run && run.pane === "destination" && (run.bad?.op || run.first_difference?.op);
    if (op) {
      p.panes.destination.goTo(op, false);
      p.panes.destination.arrive();
    }
  }
}

function number(text = ""): number {
  return Math.max(0, Math.round(+text)) || 0;
}

/** The fields of the form. Names of placeholders never begin with a space; names of the other fields do. */
function fields(form: RunForm): Field[] {
  const feeds = form.feeds.map(f => ({
    name: f.tensor,
    label: `${f.tensor}  ${f.text}`,
    hint: f.random || "random (1, 3), a name, a file or numbers",
    list: f.names,
  }));
  const options: [string, string][] = [
    ["graph", "the graph"],
    ["selection", "the selection and its inputs"],
  ];
  return [
    ...feeds,
    ...(form.selected && form.target === "graph" ? [{ name: " of", label: "Part to run", value: "graph", options }] : []),
    ...(feeds.length ? [{ name: " seed", label: "Random seed", value: "0" }] : []),
    { name: " limit", label: "Time limit, in seconds", hint: "none" },
    { name: " memory", label: "Memory limit, in MB", hint: "none" },
  ];
}
