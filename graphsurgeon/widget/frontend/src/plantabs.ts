// The details below the plan bar: tables of the boundary and of what the plan does.
import { button, count, figure, h, muted } from "./dom";
import type { Ask } from "./api";
import type { Policy } from "./verbs";
import type { Boundary, Plan, TensorText } from "./types";

const POLICIES: Record<Policy, string> = {
  copy: "copy: its own, with the current value",
  initial: "initial: its own, with the initial value",
  share: "share: the original itself",
  freeze: "freeze: a constant of the current value",
};

const MODES = {
  append: "Nothing that exists is touched.",
  materialise: "Builds a new graph, as ops that exist change; the old one stays usable.",
};

export const tables = {
  boundary(b: Boundary, ask: Ask): HTMLElement {
    if (!b.inputs.length && !b.outputs.length && !b.leaks.length && !b.control_leaks.length) return muted("No tensor is marked.");
    const rows = (list: TensorText[], kind: "in" | "out" | "leak", sign: string, act?: (t: string) => Node) =>
      list.map((t, i) =>
        h(
          "li",
          {},
          h("span", { class: `gs-tag gs-tag-${kind}` }, kind === "leak" ? sign : `${sign} ${i + 1}`),
          h("span", { class: "gs-name" }, t.tensor),
          h("span", { class: "gs-muted" }, rest(t)),
          act?.(t.tensor),
        ),
      );
    const drop = (t: string) =>
      button({ text: "Unmark", kind: "small", "aria-label": `Unmark ${t}`, press: () => ask("unmark", { tensor: t }) });
    const add = (t: string) =>
      button({ text: "Add as input", kind: "small", "aria-label": `Add as input ${t}`, press: () => ask("add_leak", { tensor: t }) });
    return h(
      "ul",
      { class: "gs-rows" },
      ...rows(b.leaks, "leak", "\u26a0 leak", add),
      ...rows(b.control_leaks, "leak", "\u26a0 control"),
      ...rows(b.inputs, "in", "\u25b7 in", drop),
      ...rows(b.outputs, "out", "\u25c1 out", drop),
    );
  },

  steps(plan: Plan): HTMLElement {
    const c = plan.counts;
    const sum = [
      count(c.ops, "new op"),
      count(c.variables, "variable"),
      count(c.placeholders, "placeholder"),
      count(c.connections, "connection"),
      c.changed && count(c.changed, "op changed", "ops changed"),
      c.removed && count(c.removed, "op removed", "ops removed"),
    ]
      .filter(Boolean)
      .join(" \u00b7 ");
    return h(
      "div",
      {},
      h("ol", { class: "gs-steps" }, ...plan.steps.map(s => h("li", {}, s.text))),
      ...(plan.also_copied ?? []).map(a => muted(`Also copied: ${a}`)),
      muted(sum),
      muted(MODES[plan.mode ?? "append"]),
    );
  },

  variables(plan: Plan, ask: Ask): HTMLElement {
    if (!plan.variables.length) return muted("The plan touches no variables.");
    const rows = plan.variables.map(v => [
      v.name,
      v.was,
      `${v.dtype} ${v.shape}`,
      choice(v.policy, `What becomes of ${v.was}`, p => ask("set_policy", { step: v.step, variable: v.was, policy: p })),
      v.values,
    ]);
    const steps = [...new Set(plan.variables.map(v => v.step))];
    const all = choice(
      "",
      "What becomes of all variables",
      p => steps.forEach(step => ask("set_policy", { step, variable: "*", policy: p })),
      "choose \u2026",
    );
    return h(
      "div",
      {},
      plan.variables.length > 1 && h("p", {}, h("label", { class: "gs-muted" }, "All without a choice of their own: ", all)),
      table(["New", "Was", "Type", "Policy", "Values"], rows),
    );
  },

  names(plan: Plan): HTMLElement {
    if (!plan.new.length) return muted("The plan makes no new ops.");
    const rest = plan.counts.ops - plan.new.length;
    const made = table(
      ["New", "Was", "Op"],
      plan.new.map(n => [n.name, n.was, n.op]),
    );
    return rest > 0 ? h("div", {}, made, muted(`and ${figure(rest)} more`)) : made;
  },

  connections(plan: Plan): HTMLElement {
    if (!plan.connections.length)
      return muted("The plan connects nothing: select a tensor, press m, select the op that shall read it, press m again.");
    return table(
      ["Tensor", "Will be read by", "In the place of"],
      plan.connections.map(c => [c.from, c.text.split(" \u2192 ").pop() ?? c.to, c.was ?? ""]),
    );
  },
};

/** A choice between policies; one that is none of them, as "replace", stays as an option of its own. */
function choice(now: string, label: string, chosen: (policy: Policy) => void, head = ""): HTMLSelectElement {
  const other = now in POLICIES ? [] : [h("option", { value: now, selected: true, disabled: !!head }, head || now)];
  return h(
    "select",
    {
      class: "gs-select",
      "aria-label": label,
      on: { change: (e: Event) => chosen((e.target as HTMLSelectElement).value as Policy) },
    },
    ...other,
    ...Object.entries(POLICIES).map(([key, text]) => h("option", { value: key, title: text, selected: key === now }, head ? text : key)),
  );
}

/** What is said of a tensor besides its name. */
function rest(t: TensorText): string {
  return t.text.startsWith(t.tensor) ? t.text.slice(t.tensor.length).trim() : t.text;
}

/** Faults and warnings, each with what to do instead. */
export function problems(plan: Plan, ask: Ask): HTMLElement {
  return h(
    "ul",
    { class: "gs-rows gs-problems" },
    ...plan.faults.map((f, i) =>
      h(
        "li",
        {},
        h("span", { class: "gs-tag gs-tag-fault" }, "\u2715 fault"),
        h("div", {}, h("div", {}, h("b", {}, f.asked), ": ", f.wrong), h("div", { class: "gs-muted" }, f.instead)),
        i === plan.faults.length - 1 && button({ text: "Take the last step back", kind: "small", press: () => ask("undo", {}) }),
      ),
    ),
    ...plan.warnings.map(w => h("li", {}, h("span", { class: "gs-tag gs-tag-leak" }, "\u26a0 warning"), h("div", {}, w))),
  );
}

function table(heads: string[], rows: (string | Node)[][]): HTMLElement {
  return h(
    "table",
    { class: "gs-table" },
    h("thead", {}, h("tr", {}, ...heads.map(t => (t ? h("th", { scope: "col" }, t) : h("td", {}))))),
    h("tbody", {}, ...rows.map(r => h("tr", {}, ...r.map((c, i) => h("td", i > 1 ? { class: "gs-short" } : {}, c))))),
  );
}
