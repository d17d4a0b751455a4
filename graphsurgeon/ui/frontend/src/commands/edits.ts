// Edits of existing ops: the second menu of a box, and the forms of its items.
import { type Actions, TWO_END_EDITS, type TwoEndEdit } from "./actions";
import { Attrs } from "../panels/attributes";
import type { BoxDrag } from "../canvas/drag_boxes";
import type { Action } from "./keys";
import type { Pane } from "../canvas/pane";
import { displayName, isFold } from "../state/places";
import type { Choice, Entry, Field } from "../panels/popup";
import type { Position } from "../panels/parts";
import type { Box, Group } from "../model/types.generated";

const EXTERNAL: [string, string][] = [
  ["refuse", "skip that match"],
  ["keep", "keep ops others use"],
];
const FREE = "a free one";
const ASSIGN: [string, string][] = [
  ["leave", "leave them"],
  ["copy", "copy them too"],
];

/** An action as an item of a menu for a box of a pane; none if the action cannot be done with it. */
export type ChoiceOf = (action: Action, pane: Pane, of?: Box | Group, more?: Partial<Choice>) => Choice | false;

export class Edits {
  readonly attrs: Attrs;

  constructor(
    private readonly actions: Actions,
    private readonly boxDrag: BoxDrag,
    readonly choice: ChoiceOf,
  ) {
    this.attrs = new Attrs(actions);
  }

  /** The selection of a pane if the box is part of it, else the box alone. */
  #names(pane: Pane, of: Box | Group): string[] {
    const selected = this.actions.selected[pane.name];
    return selected.has(of.name) ? [...selected] : [of.name];
  }

  /** The boxes to search similar parts for: after a search still the first selection, not all results. */
  #alike(pane: Pane, of: Box | Group): string[] {
    const found = pane.name === "source" && this.actions.selected.source.has(of.name) ? this.actions.state.similarTo : null;
    return found ?? this.#names(pane, of);
  }

  /** Selects all parts similar to the selection, and shows how many of their ops other boxes hold. */
  async like(pane: Pane, of: Box | Group): Promise<void> {
    const names = this.#alike(pane, of),
      found = await this.actions.send("find_similar", { names });
    if (!found) return;
    this.actions.ui.store.set({ similarTo: names });
    this.actions.ui.panes.source.drawing.markHits(found.boxes);
  }

  remove(pane: Pane, of: Box | Group, stitch: boolean): void {
    this.actions.post("remove", { names: this.#names(pane, of), stitch });
  }

  /** Replaces all parts similar to the selection by an op of another type. */
  type(pane: Pane, of: Box | Group): void {
    const like = this.#alike(pane, of),
      one = like.length === 1 && !isFold(of);
    const fields: Field[] = [{ name: "replacement", label: "Op type", hint: "name or description", find: this.#types(like) }];
    if (!one) fields.push({ name: "external", label: "If other ops read inner tensors", value: "refuse", options: EXTERNAL });
    this.actions.ui.popup.form(`Replace all similar to ${similarText(like)}`, fields, "Replace", v =>
      this.actions.call("replace", { names: like, replacement: v.replacement!, external: (v.external ?? "refuse") as "refuse" | "keep" }),
    );
  }

  /** Sets an attribute of the selection. */
  attribute(pane: Pane, of: Box | Group): void {
    void this.attrs.choose(pane, this.#names(pane, of));
  }

  /** Finds op types that can replace boxes. */
  #types(names: string[]): Field["find"] {
    return query => this.actions.send("op_types", { query, names, inputs: 0 });
  }

  /** Finds op types with one input, which can be dragged onto an edge. */
  async #insertable(query: string, values: () => Record<string, string>): Promise<Entry[] | null> {
    const { popup } = this.actions.ui,
      found = await this.actions.send("op_types", { query, names: [], inputs: 1 });
    const drag = (op: string) => () => {
      const name = values().name || null;
      popup.close();
      return this.boxDrag.beginType(op, (pane, edge) =>
        this.actions.post("insert", { op, on: edge.tensor, name, only: [this.actions.ends(pane, edge)[1]!.name] }),
      );
    };
    return found && found.map(type => ({ ...type, drag: drag(type.name) }));
  }

  /** Asks for an op with one input to insert after a tensor, for all its consumers or for those in some boxes. */
  insert(tensor: string, only: string[] = []): void {
    this.actions.ui.popup.form(
      only.length ? `Insert op between ${tensor} and ${similarText(only)}` : `Insert op after ${tensor}`,
      [
        { name: "op", label: "Op type (one input)", value: "Identity", find: (query, values) => this.#insertable(query, values) },
        { name: "name", label: "Name", hint: FREE },
      ],
      "Insert",
      v => this.actions.call("insert", { op: v.op!, on: tensor, name: v.name || null, only }),
      "You can also drag a type onto an edge.",
    );
  }

  menu(pane: Pane, of: Box | Group, at: Position): void {
    const fold = isFold(of),
      names = this.#names(pane, of),
      actions = this.actions,
      { post, call } = actions,
      { popup, model } = this.actions.ui,
      selected = [...actions.selected[pane.name]],
      type = "subtitle" in of ? of.subtitle.split(" ")[0]! : "";
    const plan = model.get("plan"),
      one = names.length === 1,
      all = one ? "it" : `all ${names.length}`,
      theirs = (ends: string) => (one ? `its ${ends}` : `the ${ends} of ${all}`);
    const remove = one ? "Remove" : `Remove ${all}`,
      entry = (action: Action, text: string, run: () => void) => this.choice(action, pane, of, { text, run });
    const two = (verb: TwoEndEdit): Choice | false =>
      !fold && { text: TWO_END_EDITS[verb].menu, key: TWO_END_EDITS[verb].key, run: () => actions.startEdit(pane, verb) };
    /** A choice that opens a form; its text is `title`, unless one is given. */
    const formChoice = (
      title: string,
      fields: Field[],
      yes: string,
      run: (v: Record<string, string>) => unknown,
      text = title,
      off = false,
    ): Choice => ({
      text: `${text}\u2026`,
      off,
      run: () => popup.form(title, fields, yes, run),
    });
    const groups: Record<string, (Choice | false)[]> = {
      Consumers: [
        two("reroute"),
        two("swap"),
        !fold && { text: "Bypass", run: () => post("bypass", { op: of.name }) },
        !fold && { text: "Insert op after it\u2026", run: () => this.insert(actions.tensorOf(of.name)) },
        !fold &&
          formChoice(
            `Insert a copy of ${similarText(selected)} after it`,
            [{ name: "to", label: "Scope of the copy", hint: FREE }],
            "Insert",
            v => call("insert_copy", { names: selected, on: actions.tensorOf(of.name), to: v.to || null, pane: "destination" }),
            "Insert a copy of the selection",
            !selected.length || selected.includes(of.name),
          ),
        {
          text: one ? "Replace its output by a placeholder" : `Replace ${theirs("outputs")} by placeholders`,
          run: () => post("detach", { names, side: "outputs" }),
        },
      ],
      [!one ? `All ${names.length} selected` : fold ? "This scope" : "This op"]: [
        entry("remove", remove, () => this.remove(pane, of, false)),
        entry("stitch", `${remove} and reconnect`, () => this.remove(pane, of, true)),
        { text: `Replace ${theirs("inputs")} by placeholders`, run: () => post("detach", { names, side: "inputs" }) },
        one && this.choice("rename", pane, of, { run: () => this.attrs.rename(of.name) }),
        { text: "Place on a device\u2026", run: () => this.attrs.place(names, "/cpu:0") },
        this.choice("attribute", pane, of, { run: () => this.attribute(pane, of) }),
      ],
      Order: [
        two("add_control"),
        two("reroute_control"),
        !fold && { text: "Remove its control inputs", run: () => post("remove_control", { op: of.name, after: null }) },
      ],
      "Functions and patterns": [
        formChoice(
          `Collapse ${similarText(names)} into one call`,
          [{ name: "name", label: "Name", hint: FREE }],
          "Collapse",
          v => call("collapse", { names, name: v.name || null }),
          `Collapse ${all} into a function`,
        ),
        "kind" in of && of.kind === "call" && { text: "Inline the call", run: () => post("inline", { names: [of.name] }) },
        /While$|^(LoopCond|Enter|NextIteration|Exit)$/.test(type) &&
          formChoice(
            "Unroll the loop",
            [{ name: "times", label: "Number of rounds", value: "3" }],
            "Unroll",
            v => call("unroll", { loop: of.name, times: +v.times! }),
            "Unroll the loop",
          ),
        /(If|Case|^Switch)$/.test(type) &&
          formChoice(
            "Fix the condition",
            [{ name: "value", label: "Condition is", value: /Case$/.test(type) ? "0" : "True", hint: "True or False" }],
            "Keep that branch",
            v => call("resolve_condition", { name: of.name, value: v.value! }),
            "Fix condition",
          ),
        this.choice("type", pane, of, { run: () => this.type(pane, of) }),
      ],
      "The plan so far": [
        formChoice(
          "Make the edits so far on copies",
          [
            { name: "scope", label: "Scope of the copies", hint: FREE },
            { name: "until", label: "Stop at op", hint: "all downstream" },
            { name: "assign", label: "Ops that set state", value: "leave", options: ASSIGN },
          ],
          "Make copies",
          v => call("on_copies", { scope: v.scope || null, until: v.until ? [v.until] : [], assign: v.assign as "leave" | "copy" }),
          "Make these edits on copies",
          !plan.steps.length,
        ),
      ],
    };
    popup.choose(
      of.label || of.name,
      Object.entries(groups).flatMap(([group, choices]) => choices.map(c => c && { ...c, group })),
      at,
    );
  }
}

/** Names of boxes in a title. */
function similarText(names: string[]): string {
  return names.length > 1 ? `${names.length} boxes` : names.map(displayName).join("").slice(0, 60);
}
