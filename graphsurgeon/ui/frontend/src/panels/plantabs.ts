// The details below the plan bar: tables of the boundary and of the plan's effects.
import { countOf, figure } from "./dom";
import { enterField, group, link, muted, type Option, select, sends, small, valueOf } from "./parts";
import { type Child, h, type VNode } from "./vnodes";
import type { Actions } from "../commands/actions";
import { askStep } from "../commands/edits";
import { kindsOf } from "../state/places";
import type { Post } from "../model/api";
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
  boundary(b: Boundary, { post, isSingleGraph }: Actions, copy: (control: Waits) => void): VNode {
    if (!b.inputs.length && !b.outputs.length && !b.leaks.length && !b.control_leaks.length) return muted("No tensor is marked.");
    const rows = (list: TensorText[], kind: "in" | "out" | "leak", sign: string, act: (t: string) => Child) =>
      list.map((t, i) =>
        h(
          "li",
          h(`span.gs-tag.gs-tag-${kind}`, kind === "leak" ? sign : `${sign} ${i + 1}`),
          h("span.gs-name", t.tensor),
          h("span.gs-muted", rest(t)),
          act(t.tensor),
        ),
      );
    const act = (verb: "unmark" | "add_leak" | "include", tensor: string, text: string, label = `${text} ${tensor}`) =>
      sends(post, verb, { tensor }, text, { label });
    const drop = (t: string) => act("unmark", t, "Unmark");
    const add = (t: string) =>
      h("span.gs-row", act("add_leak", t, "Add as input"), act("include", t, "Copy its producers", `Copy its producers: ${t}`));
    const wait = (op: string) => act("include", `^${op}`, "Also copy it", `Also copy it: ${op}`);
    const waits: [Waits, string][] = [
      ["keep", "Copy, with these control inputs"],
      ["drop", "Copy, without control inputs"],
    ];
    const included = b.included.map(tensor => ({
      tensor,
      text: `${tensor} is copied with its ${tensor[0] === "^" ? "inputs" : "producers"}`,
    }));
    return h(
      "ul.gs-rows",
      rows(b.leaks, "leak", "\u26a0 leak", add),
      rows(included, "in", "+", drop),
      rows(b.control_leaks, "leak", "\u26a0 control", wait),
      b.control_leaks.length > 0 &&
        h(
          "li",
          h("span.gs-muted", "The region"),
          waits.slice(isSingleGraph ? 0 : 1).map(([control, text]) => small(text, () => copy(control), { verb: "copy" })),
        ),
      rows(b.inputs, "in", "\u25b7 in", drop),
      rows(b.outputs, "out", "\u25c1 out", drop),
    );
  },

  /** The table of the inputs of copies with their sources, and of the consumers of their outputs. */
  mapping(plan: Plan, { post, pick }: Actions): VNode {
    const scopes = Object.entries(plan.scopes).map(([step, to]) =>
      h(
        "label.gs-row",
        h("span.gs-muted", "Copied to"),
        textField(to, `Scope of the copy ${to}`, "top level", "set_scope", now => post("set_scope", { step: +step, to: now })),
      ),
    );
    const rows = plan.inputs.map(({ step, tensor, end, kind, source, same, text }) => {
      const set = (replacement: string) => post("set_input", { step, tensor, replacement }),
        type = rest({ tensor, text });
      if (end === "out")
        return [
          `\u25c1 ${tensor}`,
          type,
          h(
            "span.gs-row",
            h("span.gs-muted", `is ${source}`),
            small(
              "Replace another tensor with it\u2026",
              () => pick(`Which tensor should ${source} replace`, old => post("reroute", { old, to: source, only: [] })),
              { title: `Choose a tensor: its consumers will read ${source}`, verb: "reroute" },
            ),
          ),
        ];
      const isTensor = kind === "tensor" || kind === "constant",
        options: Option[] = [["placeholder", "a placeholder"]];
      if (same) options.push(["keep", "the original tensor"]);
      if (!options.some(([value]) => value === kind)) options.push([kind, isTensor ? `a ${kind}` : kind, { disabled: isTensor }]);
      return [
        `\u25b7 ${tensor}`,
        type,
        h(
          "span.gs-row",
          select(kind, options, {
            class: "gs-select",
            "aria-label": `Source of ${tensor}`,
            "data-verb": "set_input",
            onchange: (e: Event) => set(valueOf(e)),
          }),
          textField(isTensor ? source : "", `Tensor or value that feeds ${tensor}`, "tensor or value", "set_input", set),
          small("Choose in graph", () => pick(`Which tensor should feed ${tensor}`, set), {
            title: `Choose the tensor that feeds ${tensor}`,
            verb: "set_input",
          }),
        ),
      ];
    });
    return h("div.gs-mapping", scopes, rows.length > 0 && table(["Copy's input", "dtype, shape", "Source"], rows));
  },

  steps(plan: Plan, actions: Actions): VNode {
    const { post } = actions,
      c = plan.counts,
      last = plan.steps.length - 1;
    return h(
      "div",
      h(
        "ol.gs-steps",
        plan.steps.map(({ text, muted: off = false }, step) => {
          const move = (sign: string, label: string, before: number) =>
            sends(post, "move_step", { step, before }, sign, { label: `${label}: ${text}` });
          return h(
            "li",
            h(
              "div",
              h(off ? "s" : "span", text),
              h(
                "div.gs-row",
                small("Edit", () => askStep(actions, step), { label: `Edit: ${text}`, verb: "step_form" }),
                sends(post, "mute_step", { step, on: !off }, "Mute", {
                  "aria-label": `Mute: ${text}`,
                  "aria-pressed": off,
                  title: off ? "Include this step again" : "Skip this step, but keep it in the plan",
                }),
                step > 0 && move("\u2191", "Earlier", step - 1),
                step < last && move("\u2193", "Later", step + 2),
                sends(post, "remove_step", { step }, "", { icon: "close", label: `Remove: ${text}` }),
              ),
            ),
          );
        }),
      ),
      plan.also_copied.map(a => muted(`Also copied: ${a}`)),
      muted(
        [
          countOf(c.ops, "new ops"),
          countOf(c.variables, "variables"),
          countOf(c.placeholders, "placeholders"),
          countOf(c.connections, "connections"),
          c.changed && countOf(c.changed, "ops changed"),
          c.removed && countOf(c.removed, "ops removed"),
        ]
          .filter(Boolean)
          .join(" \u00b7 "),
      ),
      muted(MODES[plan.mode]),
    );
  },

  variables(plan: Plan, { post }: Actions): VNode {
    if (!plan.variables.length) return muted("The plan touches no variables.");
    const rows = plan.variables.map(v => [
      ["share", "replace"].includes(v.policy) ? v.name : nameField(v.name, post),
      v.original,
      `${v.dtype} ${v.shape}`,
      v.size,
      choice(v.policy, `Policy of ${v.original}`, policy => post("set_policy", { step: v.step, variable: v.original, policy })),
      v.values,
    ]);
    const steps = new Set(plan.variables.map(v => v.step)),
      all = (policy: Policy) => steps.forEach(step => post("set_policy", { step, variable: "*", policy }));
    return h(
      "div",
      rows.length > 1 &&
        h("p", h("label.gs-muted", "Default for the others: ", choice("", "Policy of the other variables", all, "choose\u2026"))),
      table(["New", "Original", "dtype, shape", "Size", "Policy", "Values"], rows),
      moreRows(plan.rows - rows.length),
    );
  },

  names(plan: Plan, { post }: Actions): VNode {
    if (!plan.new.length) return muted("The plan makes no new ops.");
    const rows = plan.new.map(n => [nameField(n.name, post), n.original, n.op]);
    return h("div", table(["New", "Original", "Op"], rows), moreRows(plan.counts.ops - rows.length));
  },

  /** The steps of the history in a row. A click on a step shows the graph after it; later steps stay available. */
  history(steps: Plan["history"], { post }: Actions): VNode {
    const now = steps.filter(one => !one.ahead).at(-1)?.step ?? 0;
    return group(
      "div.gs-row.gs-measures",
      "History",
      [{ step: 0, text: "Opened", ahead: false }, ...steps].map(({ step, text, ahead }) =>
        sends(post, "go_to_step", { step }, text, {
          title: ahead ? `${text}, undone` : text,
          class: ahead && "gs-ahead",
          "aria-pressed": step === now,
        }),
      ),
    );
  },

  connections(plan: Plan): VNode {
    if (!plan.connections.length)
      return muted("The plan connects nothing. Select a tensor, press m, select its new consumer and press m again.");
    const rows = plan.connections.map(c => [c.from, `${c.to} input ${c.input}`, c.previous]);
    return h("div", table(["Tensor", "New consumer", "Replaces"], rows), moreRows(plan.counts.connections - rows.length));
  },

  /** Errors and warnings, each with a suggestion; the names in them are links. */
  problems(plan: Plan, actions: Actions): VNode {
    const { post } = actions,
      linked = (text: string) =>
        (plan.links[text] ?? [[text]]).map(([part = "", name, pane]) =>
          name ? link(name, () => actions.reveal(pane as PaneName, name), part) : part,
        );
    return h(
      "ul.gs-rows.gs-problems",
      plan.faults.map(({ request, problem, suggestion, fixes, step }, fault) =>
        h(
          "li",
          h("span.gs-tag.gs-tag-fault", "\u2715 error"),
          h("div", h("div", h("b", linked(request)), ": ", linked(problem)), h("div.gs-muted", linked(suggestion))),
          !!fixes?.length &&
            group(
              "span.gs-row",
              "Fixes",
              fixes
                .slice(0, CURES)
                .map((c, fix) => sends(post, "apply_fix", { fault, fix }, kindsOf(c), { title: `${kindsOf(c)}: ${c.text}` })),
            ),
          step != null &&
            group(
              "span.gs-row",
              "The step with this error",
              small("Edit this step", () => askStep(actions, step), { verb: "step_form" }),
              sends(post, "remove_step", { step }, "Remove this step"),
            ),
        ),
      ),
      plan.warnings.map(w => h("li", h("span.gs-tag.gs-tag-leak", "\u26a0 warning"), h("div", linked(w)))),
    );
  },
};

/** A text field whose value is taken on Enter. */
function textField(value: string, label: string, placeholder: string, verb: keyof Verbs, done: (text: string) => void): VNode {
  return enterField(value, done, { placeholder, "aria-label": label, "data-verb": verb });
}

/** The name of a new op, which can be edited. */
function nameField(name: string, post: Post): VNode {
  const attributes = { class: "gs-as-text", title: name, placeholder: "name", "aria-label": `Name of ${name}`, "data-verb": "rename" };
  return enterField(name, to => post("rename", { old: name, to }), attributes);
}

/** The number of rows that a list does not show. */
function moreRows(n: number): VNode | false {
  return n > 0 && muted(`and ${figure(n)} more`);
}

/** A choice between policies; any other value, for example "replace", is an additional option. */
function choice(now: string, label: string, chosen: (policy: Policy) => void, head = ""): VNode {
  const other: Option[] = now in POLICIES ? [] : [[now, head || now, { disabled: !!head }]],
    policies = Object.entries(POLICIES).map(([key, title]): Option => [key, head ? title : key, { title }]);
  return select(now, [...other, ...policies], {
    class: "gs-select",
    "aria-label": label,
    "data-verb": "set_policy",
    onchange: (e: Event) => chosen(valueOf(e) as Policy),
  });
}

/** The text of a tensor without its name. */
function rest({ tensor, text }: Pick<TensorText, "tensor" | "text">): string {
  return text.startsWith(tensor) ? text.slice(tensor.length).trim() : text;
}

function table(heads: string[], rows: Child[][]): VNode {
  return h(
    "table.gs-table",
    h(
      "thead",
      h(
        "tr",
        heads.map(text => h("th", { scope: "col" }, text)),
      ),
    ),
    h(
      "tbody",
      rows.map(row =>
        h(
          "tr",
          row.map((cell, i) => h(i > 1 ? "td.gs-short" : "td", cell)),
        ),
      ),
    ),
  );
}
