// The details below the plan bar: tables of the boundary and of what the plan does.
import { button, count, h } from "./dom";
import type { Boundary, Plan, TensorText } from "./types";

interface BoundaryEvents { unmarked(tensor: string): void; leakAdded(tensor: string): void }

const MODES = {
  append: "Nothing that exists is touched.",
  materialise: "Builds a new graph, because ops that exist get other inputs; the old graph stays usable.",
};

export const tables = {
  boundary(b: Boundary, events: BoundaryEvents): HTMLElement {
    if (!b.inputs.length && !b.outputs.length && !b.leaks.length && !b.control_leaks.length) return none("No tensor is marked.");
    const rows = (list: TensorText[], kind: "in" | "out" | "leak", sign: string, act?: (t: string) => Node) =>
      list.map((t, i) => h("li", {}, h("span", { class: `gs-tag gs-tag-${kind}` }, kind === "leak" ? sign : `${sign} ${i + 1}`),
        h("span", { class: "gs-name" }, t.tensor), h("span", { class: "gs-muted" }, rest(t)), act?.(t.tensor)));
    const drop = (t: string) => button({ text: "Unmark", kind: "small", "aria-label": `Unmark ${t}`.slice(0, 300), press: () => events.unmarked(t) });
    const add = (t: string) => button({ text: "Add as input", kind: "small", "aria-label": `Add as input ${t}`.slice(0, 300), press: () => events.leakAdded(t) });
    return h("ul", { class: "gs-rows" },
      ...rows(b.leaks, "leak", "\u26a0 leak", add), ...rows(b.control_leaks, "leak", "\u26a0 control"),
      ...rows(b.inputs, "in", "\u25b7 in", drop), ...rows(b.outputs, "out", "\u25c1 out", drop));
  },

  steps(plan: Plan): HTMLElement {
    const c = plan.counts;
    const sum = [count(c.ops, "new op"), count(c.variables, "variable"), count(c.placeholders, "placeholder"), count(c.connections, "connection")].join(" \u00b7 ");
    return h("div", {}, h("ol", { class: "gs-steps" }, ...plan.steps.map(s => h("li", {}, s.text))),
      ...(plan.along ?? []).map(a => h("p", { class: "gs-muted" }, `Came along: ${a}`)), h("p", { class: "gs-muted" }, sum), h("p", { class: "gs-muted" }, MODES[plan.mode ?? "append"]));
  },

  variables(plan: Plan): HTMLElement {
    if (!plan.variables.length) return none("The plan touches no variables.");
    return table(["New", "Was", "Type", "Policy", "Values"], plan.variables.map(v => [v.name, v.was, `${v.dtype} ${v.shape}`, v.policy, v.values]));
  },

  names(plan: Plan): HTMLElement {
    if (!plan.new.length) return none("The plan makes no new ops.");
    const rest = plan.counts.ops - plan.new.length;
    const made = table(["New", "Was", "Op"], plan.new.map(n => [n.name, n.was, n.op]));
    return rest > 0 ? h("div", {}, made, h("p", { class: "gs-muted" }, `and ${rest.toLocaleString("en")} more`)) : made;
  },

  connections(plan: Plan): HTMLElement {
    if (!plan.connections.length) return none("The plan connects nothing: pick a tensor, press m, pick the op that shall read it, press m again.");
    return table(["Tensor", "Will be read by", "In the place of"], plan.connections.map(c => [c.from, c.text.split(" \u2192 ").pop() ?? c.to, c.was ?? ""]));
  },
};

/** What is said of a tensor besides its name. */
function rest(t: TensorText): string {
  return t.text.startsWith(t.tensor) ? t.text.slice(t.tensor.length).trim() : t.text;
}

/** Faults and warnings, each with what to do instead. */
export function problems(plan: Plan, back: () => void): HTMLElement {
  return h("ul", { class: "gs-rows gs-problems" },
    ...plan.faults.map((f, i) => h("li", {}, h("span", { class: "gs-tag gs-tag-fault" }, "\u2715 fault"),
      h("div", {}, h("div", {}, h("b", {}, f.asked), ": ", f.wrong), h("div", { class: "gs-muted" }, f.instead)),
      i === plan.faults.length - 1 && button({ text: "Take the last step back", kind: "small", press: back }))),
    ...plan.warnings.map(w => h("li", {}, h("span", { class: "gs-tag gs-tag-leak" }, "\u26a0 warning"), h("div", {}, w))));
}

function table(heads: string[], rows: string[][]): HTMLElement {
  return h("table", { class: "gs-table" },
    h("thead", {}, h("tr", {}, ...heads.map(t => (t ? h("th", { scope: "col" }, t) : h("td", {}))))),
    h("tbody", {}, ...rows.map(r => h("tr", {}, ...r.map((c, i) => h("td", i > 1 ? { class: "gs-short" } : {}, c))))));
}

function none(text: string): HTMLElement {
  return h("p", { class: "gs-muted" }, text);
}
