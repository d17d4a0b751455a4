// The details below the plan bar: tables of the boundary and of the plan's effects.
import { button, count, field, figure, h, link, muted, small } from "./dom";
import { kindsOf } from "../state/places";
import type { Post } from "../model/api";
import { icon } from "./icons";
import type { Boundary, PaneName, Plan, Policy, TensorText, Verbs, Waits } from "../model/types.generated";

const POLICIES: Record<Policy, string> = {
  copy: "copy: its own variable, with the current value",
  initial: "initial: its own variable, with the initial value",
  share: "share: the original variable",
  freeze: "freeze: a constant of the current value",
};

const MODES: Record<string, string> = {
  append: "Existing ops do not change.",
  materialize: "Existing ops change, so applying builds a new graph. The old graph stays usable.",
};

/** The number of adapters of an error that are buttons. */
const CURES = 4;

export const tables = {
  boundary(b: Boundary, post: Post, same: boolean, copy: (control: Waits) => void): HTMLElement {
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
    const drop = (t: string) => small("Unmark", () => post("unmark", { tensor: t }), `Unmark ${t}`, { verb: "unmark" });
    const add = (t: string) =>
      h(
        "span",
        { class: "gs-row" },
        small("Add as input", () => post("add_leak", { tensor: t }), `Add as input ${t}`, { verb: "add_leak" }),
        small("Copy its producers", () => post("include", { tensor: t }), `Copy its producers: ${t}`, { verb: "include" }),
      );
    const wait = (op: string) =>
      small("Also copy it", () => post("include", { tensor: `^${op}` }), `Also copy it: ${op}`, { verb: "include" });
    const waits: [Waits, string][] = [
      ["keep", "Copy, with these control inputs"],
      ["drop", "Copy, without control inputs"],
    ];
    const held = waits.slice(same ? 0 : 1).map(([control, text]) => small(text, () => copy(control), undefined, { verb: "copy" }));
    return h(
      "ul",
      { class: "gs-rows" },
      ...rows(b.leaks, "leak", "\u26a0 leak", add),
      ...rows(
        b.included.map(tensor => ({
          tensor,
          text: `${tensor} is copied with its ${tensor[0] === "^" ? "inputs" : "producers"}`,
        })),
        "in",
        "+",
        drop,
      ),
      ...rows(b.control_leaks, "leak", "\u26a0 control", wait),
      b.control_leaks.length > 0 && h("li", {}, h("span", { class: "gs-muted" }, "The region"), ...held),
      ...rows(b.inputs, "in", "\u25b7 in", drop),
      ...rows(b.outputs, "out", "\u25c1 out", drop),
    );
  },

  /** The table of the inputs of copies with their sources, and of the consumers of their outputs. */
  mapping(plan: Plan, post: Post, pick: (ask: string, take: (tensor: string) => void) => void): HTMLElement {
    const scopes = Object.entries(plan.scopes).map(([step, to]) => {
      const scope = textField(to, `Scope of the copy ${to}`, "top level", "set_scope", now => post("set_scope", { step: +step, to: now }));
      return h("label", { class: "gs-row" }, h("span", { class: "gs-muted" }, "Copied to"), scope);
    });
    const rows = plan.inputs.map(t => {
      const set = (replacement: string) => post("set_input", { step: t.step, tensor: t.tensor, replacement });
      const type = rest(t);
      if (t.end === "out")
        return [
          `\u25c1 ${t.tensor}`,
          type,
          h(
            "span",
            { class: "gs-row" },
            h("span", { class: "gs-muted" }, `is ${t.source}`),
            small(
              "Replace another tensor with it\u2026",
              () => pick(`Which tensor should ${t.source} replace`, old => post("reroute", { old, to: t.source, only: [] })),
              undefined,
              { title: `Choose a tensor: its consumers will read ${t.source}`, verb: "reroute" },
            ),
          ),
        ];
      const isTensor = t.kind === "tensor" || t.kind === "constant";
      const choices: [string, string][] = [["placeholder", "a placeholder"]];
      if (t.same) choices.push(["keep", "the original tensor"]);
      if (!choices.some(([value]) => value === t.kind)) choices.push([t.kind, isTensor ? `a ${t.kind}` : t.kind]);
      return [
        `\u25b7 ${t.tensor}`,
        type,
        h(
          "span",
          { class: "gs-row" },
          h(
            "select",
            {
              class: "gs-select",
              "aria-label": `Source of ${t.tensor}`,
              "data-verb": "set_input",
              on: { change: (e: Event) => set((e.target as HTMLSelectElement).value) },
            },
            ...choices.map(([value, text]) =>
              h("option", { value, selected: value === t.kind, disabled: value === t.kind && isTensor }, text),
            ),
          ),
          textField(isTensor ? t.source : "", `Tensor or value that feeds ${t.tensor}`, "tensor or value", "set_input", set),
          small("Choose in graph", () => pick(`Which tensor should feed ${t.tensor}`, set), undefined, {
            title: `Choose the tensor that feeds ${t.tensor}`,
            verb: "set_input",
          }),
        ),
      ];
    });
    return h("div", { class: "gs-mapping" }, ...scopes, rows.length ? table(["Copy's input", "dtype, shape", "Source"], rows) : null);
  },

  steps(plan: Plan, post: Post, edit: (step: number) => void): HTMLElement {
    const last = plan.steps.length - 1;
    const row = ({ text, muted: off = false }: Plan["steps"][number], i: number) =>
      h(
        "li",
        {},
        h(
          "div",
          {},
          h(off ? "s" : "span", {}, text),
          h(
            "div",
            { class: "gs-row" },
            small("Edit", () => edit(i), `Edit: ${text}`, { verb: "step_form" }),
            small("Mute", () => post("mute_step", { step: i, on: !off }), `Mute: ${text}`, {
              verb: "mute_step",
              "aria-pressed": String(off),
              title: off ? "Include this step again" : "Skip this step, but keep it in the plan",
            }),
            i > 0 && small("\u2191", () => post("move_step", { step: i, before: i - 1 }), `Earlier: ${text}`, { verb: "move_step" }),
            i < last && small("\u2193", () => post("move_step", { step: i, before: i + 2 }), `Later: ${text}`, { verb: "move_step" }),
            button({
              icon: icon("close"),
              label: `Remove: ${text}`,
              kind: "small",
              verb: "remove_step",
              press: () => post("remove_step", { step: i }),
            }),
          ),
        ),
      );
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
      h("ol", { class: "gs-steps" }, ...plan.steps.map(row)),
      ...plan.also_copied.map(a => muted(`Also copied: ${a}`)),
      muted(sum),
      muted(MODES[plan.mode] ?? ""),
    );
  },

  variables(plan: Plan, ask: Post): HTMLElement {
    if (!plan.variables.length) return muted("The plan touches no variables.");
    const own = (p: string) => p !== "share" && p !== "replace";
    const rows = plan.variables.map(v => [
      own(v.policy) ? nameLink(v.name, ask) : v.name,
      v.original,
      `${v.dtype} ${v.shape}`,
      v.size,
      choice(v.policy, `Policy of ${v.original}`, p => ask("set_policy", { step: v.step, variable: v.original, policy: p })),
      v.values,
    ]);
    const steps = [...new Set(plan.variables.map(v => v.step))];
    const all = choice(
      "",
      "Policy of the other variables",
      p => steps.forEach(step => ask("set_policy", { step, variable: "*", policy: p })),
      "choose\u2026",
    );
    return h(
      "div",
      {},
      plan.variables.length > 1 && h("p", {}, h("label", { class: "gs-muted" }, "Default for the others: ", all)),
      table(["New", "Original", "dtype, shape", "Size", "Policy", "Values"], rows),
      moreRows(plan.rows - rows.length),
    );
  },

  names(plan: Plan, ask: Post): HTMLElement {
    if (!plan.new.length) return muted("The plan makes no new ops.");
    const made = table(
      ["New", "Original", "Op"],
      plan.new.map(n => [nameLink(n.name, ask), n.original, n.op]),
    );
    return h("div", {}, made, moreRows(plan.counts.ops - plan.new.length));
  },

  /** The steps of the history in a row. A click on a step shows the graph after it; later steps stay available. */
  history(steps: Required<Plan>["history"], ask: Post): HTMLElement {
    const now = steps.filter(one => !one.ahead).at(-1)?.step ?? 0,
      at = ({ step, text, ahead }: (typeof steps)[number]) =>
        small(text, () => ask("go_to_step", { step }), undefined, {
          verb: "go_to_step",
          title: ahead ? `${text}, undone` : text,
          class: ahead ? "gs-ahead" : "",
          "aria-pressed": String(step === now),
        });
    const opened = { step: 0, text: "Opened", ahead: false };
    return h("div", { class: "gs-row gs-measures", role: "group", "aria-label": "History" }, ...[opened, ...steps].map(at));
  },

  connections(plan: Plan): HTMLElement {
    if (!plan.connections.length)
      return muted("The plan connects nothing. Select a tensor, press m, select its new consumer and press m again.");
    const joined = table(
      ["Tensor", "New consumer", "Replaces"],
      plan.connections.map(c => [c.from, `${c.to} input ${c.input}`, c.previous]),
    );
    return h("div", {}, joined, moreRows(plan.counts.connections - plan.connections.length));
  },
};

/** A text field whose value is taken on Enter. */
function textField(value: string, label: string, hint: string, verb: keyof Verbs, done: (text: string) => void): HTMLInputElement {
  const input = field({ class: "gs-field gs-entered", value, placeholder: hint, "aria-label": label, "data-verb": verb });
  input.addEventListener("keydown", e => {
    if (e.key !== "Enter" || e.ctrlKey || e.metaKey) return;
    e.preventDefault();
    if (input.value.trim() !== value) done(input.value.trim());
  });
  return input;
}

/** The name of a new op, which can be edited. */
function nameLink(name: string, ask: Post): HTMLInputElement {
  const input = textField(name, `Name of ${name}`, "name", "rename", to => ask("rename", { old: name, to }));
  input.classList.add("gs-as-text");
  input.title = name;
  return input;
}

/** The number of rows that a list does not show. */
function moreRows(n: number): HTMLElement | null {
  return n > 0 ? muted(`and ${figure(n)} more`) : null;
}

/** A choice between policies; any other value, for example "replace", is an additional option. */
function choice(now: string, label: string, chosen: (policy: Policy) => void, head = ""): HTMLSelectElement {
  const other = now in POLICIES ? [] : [h("option", { value: now, selected: true, disabled: !!head }, head || now)];
  return h(
    "select",
    {
      class: "gs-select",
      "aria-label": label,
      "data-verb": "set_policy",
      on: { change: (e: Event) => chosen((e.target as HTMLSelectElement).value as Policy) },
    },
    ...other,
    ...Object.entries(POLICIES).map(([key, text]) => h("option", { value: key, title: text, selected: key === now }, head ? text : key)),
  );
}

/** The text of a tensor without its name. */
function rest(t: TensorText): string {
  return t.text.startsWith(t.tensor) ? t.text.slice(t.tensor.length).trim() : t.text;
}

/** Errors and warnings, each with a suggestion; the names in them are links. */
export function problems(plan: Plan, post: Post, edit: (step: number) => void, go: (name: string, pane: PaneName) => void): HTMLElement {
  const text = (said: string) =>
    (plan.links[said] ?? [[said]]).map(([part = "", name, pane]) => (name ? link(part, () => go(name, pane as PaneName)) : part));
  return h(
    "ul",
    { class: "gs-rows gs-problems" },
    ...plan.faults.map((f, i) =>
      h(
        "li",
        {},
        h("span", { class: "gs-tag gs-tag-fault" }, "\u2715 error"),
        h(
          "div",
          {},
          h("div", {}, h("b", {}, ...text(f.request)), ": ", ...text(f.problem)),
          h("div", { class: "gs-muted" }, ...text(f.suggestion)),
        ),
        !!f.fixes?.length &&
          h(
            "span",
            { class: "gs-row", role: "group", "aria-label": "Fixes" },
            ...f.fixes.slice(0, CURES).map((c, fix) =>
              small(kindsOf(c), () => post("apply_fix", { fault: i, fix }), undefined, {
                title: `${kindsOf(c)}: ${c.text}`,
                verb: "apply_fix",
              }),
            ),
          ),
        f.step != null &&
          h(
            "span",
            { class: "gs-row", role: "group", "aria-label": "The step with this error" },
            small("Edit this step", () => edit(f.step!), undefined, { verb: "step_form" }),
            small("Remove this step", () => post("remove_step", { step: f.step! }), undefined, { verb: "remove_step" }),
          ),
      ),
    ),
    ...plan.warnings.map(w => h("li", {}, h("span", { class: "gs-tag gs-tag-leak" }, "\u26a0 warning"), h("div", {}, ...text(w)))),
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
