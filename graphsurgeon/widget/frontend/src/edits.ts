// Edits of what the graph has already: the second menu of a box, and what some of its items ask.
import { type Actions, SECOND } from "./actions";
import type { Pane } from "./pane";
import { called, isFold } from "./places";
import type { Choice, Field } from "./popup";
import type { Box, Group } from "./types";

type Second = keyof typeof SECOND;

const EXTERNAL: [string, string][] = [
  ["refuse", "leave that place"],
  ["keep", "keep what they need"],
];
const ASSIGN: [string, string][] = [
  ["leave", "leave them"],
  ["copy", "copy them too"],
];

export class Edits {
  constructor(private readonly acts: Actions) {}

  /** What is selected in a pane if the box is part of it, else the box alone. */
  #names(pane: Pane, of: Box | Group): string[] {
    const selected = this.acts.selected[pane.name];
    return selected.has(of.name) ? [...selected] : [of.name];
  }

  /** What more is looked for of: once it was looked for, it is still what was selected then, not all that was found. */
  #alike(pane: Pane, of: Box | Group): string[] {
    const found = pane.name === "source" && this.acts.selected.source.has(of.name) ? this.acts.p.store.now.alike : null;
    return found ?? this.#names(pane, of);
  }

  /** Selects all places that look like what is selected, and shows how many ops of them other boxes hold. */
  async like(pane: Pane, of: Box | Group): Promise<void> {
    const names = this.#alike(pane, of),
      found = await this.acts.send("find_like", { names });
    if (!found) return;
    this.acts.p.store.set({ alike: names });
    this.acts.p.panes.source.drawing.found(found.boxes);
  }

  remove(pane: Pane, of: Box | Group, stitch: boolean): void {
    const no = this.acts.refusal(pane);
    if (no) return this.acts.p.status.say(no, "warn");
    const names = this.#names(pane, of);
    const folds = names.filter(name => /[/\]]$/.test(name));
    const go = () => this.acts.ask("remove", { names, stitch });
    if (folds.length)
      this.acts.p.popup.confirm(
        `Take out all of ${folds.join(", ").slice(0, 120)}?`,
        ["It is a step of the plan: Ctrl+Z takes it back."],
        "Take out",
        go,
      );
    else go();
  }

  menu(pane: Pane, of: Box | Group, at: { x: number; y: number }): void {
    const no = this.acts.refusal(pane);
    if (no) return this.acts.p.status.say(no, "warn");
    const fold = isFold(of),
      names = this.#names(pane, of),
      acts = this.acts,
      { ask } = acts,
      { popup, model } = this.acts.p,
      selected = [...acts.selected[pane.name]],
      type = "sub" in of ? of.sub.split(" ")[0]! : "";
    const whole = of.name.replace(/\/$/, "");
    const like = this.#alike(pane, of),
      plan = model.get("plan"),
      all = names.length > 1 ? `all ${names.length}` : "it";
    const two = (verb: Second): Choice | false =>
      !fold && { text: SECOND[verb].menu, key: SECOND[verb].key, run: () => acts.arm(pane, verb) };
    /** A choice that asks for more: `title` is its text too where none is given. */
    const asks = (
      title: string,
      fields: Field[],
      yes: string,
      run: (v: Record<string, string>) => void,
      text = title,
      off = false,
    ): Choice => ({
      text: `${text} \u2026`,
      off,
      run: () => popup.ask(title, fields, yes, run),
    });
    const free = "a free one";
    const groups: Record<string, (Choice | false)[]> = {
      "What reads it": [
        two("reroute"),
        two("swap"),
        !fold && { text: "Bypass it", run: () => ask("bypass", { op: of.name }) },
        !fold &&
          asks(
            "Insert an op behind it",
            [
              { name: "op", label: "Op type, of one input", value: "Identity" },
              { name: "name", label: "Name", hint: free },
            ],
            "Insert",
            v => ask("insert", { op: v.op!, on: acts.tensorOf(of.name), name: v.name || null }),
          ),
        !fold &&
          asks(
            `Insert a copy of ${some(selected)} behind it`,
            [{ name: "to", label: "Scope of the copy", hint: free }],
            "Insert",
            v => ask("insert_copy", { names: selected, on: acts.tensorOf(of.name), to: v.to || null }),
            "Insert a copy of what is selected",
            !selected.length || selected.includes(of.name),
          ),
        {
          text: `Feed ${names.length > 1 ? `the readers of ${all}` : "its readers"} by placeholders`,
          run: () => ask("detach", { names, side: "outputs" }),
        },
      ],
      [names.length > 1 ? `All ${names.length} selected` : fold ? "The scope itself" : "The op itself"]: [
        { text: `Take ${all} out`, key: "Shift+Del", run: () => this.remove(pane, of, false) },
        { text: `Take ${all} out and stitch`, key: "Del", run: () => this.remove(pane, of, true) },
        { text: `Feed ${all} by placeholders`, run: () => ask("detach", { names, side: "inputs" }) },
        names.length === 1 &&
          !whole.startsWith("~") &&
          asks(
            fold ? "Rename the scope" : "Rename the op",
            [{ name: "to", label: "Name", value: whole }],
            "Rename",
            v => ask("rename", { old: of.name, to: v.to! }),
            "Rename",
          ),
        asks("Place on a device", [{ name: "device", label: "Device", value: "/cpu:0", hint: "any" }], "Place", v =>
          ask("set_device", { names, device: v.device! }),
        ),
        asks(
          "Set an attribute",
          [
            { name: "name", label: "Attribute" },
            { name: "value", label: "Value, as Python", hint: "None clears one that begins with _" },
          ],
          "Set",
          v => ask("set_attr", { names, name: v.name!, value: v.value! }),
        ),
      ],
      Order: [
        two("add_control"),
        two("reroute_control"),
        !fold && { text: "Wait for nothing", run: () => ask("remove_control", { op: of.name, after: null }) },
      ],
      "Functions and patterns": [
        asks(
          `Collapse ${some(names)} into one call`,
          [{ name: "name", label: "Name", hint: free }],
          "Collapse",
          v => ask("collapse", { names, name: v.name || null }),
          `Collapse ${all} into a function`,
        ),
        "kind" in of && of.kind === "call" && { text: "Inline the call", run: () => ask("inline", { names: [of.name] }) },
        /While$|^(LoopCond|Enter|NextIteration|Exit)$/.test(type) &&
          asks(
            "Put rounds of the loop in its place",
            [{ name: "times", label: "How many rounds", value: "3" }],
            "Unroll",
            v => ask("unroll", { loop: of.name, times: +v.times! }),
            "Unroll the loop",
          ),
        /(If|Case|^Switch)$/.test(type) &&
          asks(
            "One branch stays, all else goes",
            [{ name: "value", label: "What it asks is", value: /Case$/.test(type) ? "0" : "True", hint: "True or False" }],
            "Keep that branch",
            v => ask("resolve_condition", { name: of.name, value: v.value! }),
            "Say what it asks",
          ),
        asks(
          `Replace all like ${some(like)} by`,
          [
            { name: "by", label: "Op type", hint: "of as many inputs, as Softplus" },
            { name: "external", label: "If others read inside", value: "refuse", options: EXTERNAL },
          ],
          "Replace",
          v => ask("replace", { names: like, by: v.by!, external: v.external as "refuse" | "keep" }),
          "Replace all like this by",
        ),
      ],
      "The plan so far": [
        asks(
          "Make the edits so far on copies",
          [
            { name: "to", label: "Scope of the copies", hint: free },
            { name: "until", label: "Up to the op", hint: "all downstream" },
            { name: "assign", label: "Ops that set state", value: "leave", options: ASSIGN },
          ],
          "Make copies",
          v => ask("on_copies", { scope: v.to || null, until: v.until ? [v.until] : [], assign: v.assign as "leave" | "copy" }),
          "Make its edits on copies",
          !plan.steps.length,
        ),
      ],
    };
    popup.choose(
      of.label || of.name,
      Object.entries(groups).flatMap(([group, choices]) => choices.flatMap(c => (c ? [{ ...c, group }] : []))),
      at,
    );
  }
}

/** Names of boxes in a title. */
function some(names: string[]): string {
  return names.length > 1 ? `${names.length} boxes` : names.map(called).join("").slice(0, 60);
}
