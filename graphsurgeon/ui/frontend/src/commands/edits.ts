// Edits of existing ops: the second menu of a box, and the forms of its items.
import { type Actions, TWO_END_EDITS, type TwoEndEdit } from "./actions";
import { Attrs } from "../panels/attributes";
import type { BoxDrag } from "../canvas/drag_boxes";
import type { Action } from "./keys";
import type { Pane } from "../canvas/pane";
import { displayName, isFold } from "../state/places";
import { FORMS } from "../model/forms.generated";
import type { Choice, Entry, Values } from "../panels/popup";
import type { Position } from "../panels/parts";
import type { Box, Group, Verbs } from "../model/types.generated";

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
    this.actions.store.set({ similarTo: names });
    this.actions.panes.source.drawing.markHits(found.boxes);
  }

  remove(pane: Pane, of: Box | Group, stitch: boolean): void {
    this.actions.post("remove", { names: this.#names(pane, of), stitch });
  }

  /** Replaces all parts similar to the selection by an op of another type. */
  type(pane: Pane, of: Box | Group): void {
    const like = this.#alike(pane, of),
      one = like.length === 1 && !isFold(of);
    const find = (query: string) => this.actions.send("op_types", { query, names: like, inputs: 0 });
    // a single op has no inner tensors
    const more = { replacement: { find }, ...(one && { external: null }) },
      given = { names: like, external: "refuse" as const };
    this.actions.form(`Replace all similar to ${similarText(like)}`, "replace", "Replace", given, more);
  }

  /** Sets an attribute of the selection. */
  attribute(pane: Pane, of: Box | Group): void {
    void this.attrs.choose(pane, this.#names(pane, of));
  }

  /** Finds op types with one input, which can be dragged onto an edge. */
  async #insertable(query: string, values: () => Values): Promise<Entry[] | null> {
    const { popup } = this.actions,
      found = await this.actions.send("op_types", { query, names: [], inputs: 1 });
    const drag = (op: string) => () => {
      const { name } = values();
      popup.close();
      return this.boxDrag.beginType(op, (pane, edge) =>
        this.actions.post("insert", { op, on: edge.tensor, name, only: [this.actions.ends(pane, edge)[1]!.name] }),
      );
    };
    return found && found.map(type => ({ ...type, drag: drag(type.name) }));
  }

  /** Asks for an op with one input to insert after a tensor, for all its consumers or for those in some boxes. */
  insert(tensor: string, only: string[] = []): void {
    const title = only.length ? `Insert op between ${tensor} and ${similarText(only)}` : `Insert op after ${tensor}`,
      op = { value: "Identity", find: (query: string, values: () => Values) => this.#insertable(query, values) };
    this.actions.form(title, "insert", "Insert", { on: tensor, only }, { op }, undefined, "You can also drag a type onto an edge.");
  }

  menu(pane: Pane, of: Box | Group, at: Position): void {
    const fold = isFold(of),
      names = this.#names(pane, of),
      actions = this.actions,
      { post } = actions,
      { popup, model } = this.actions,
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
    /** A choice that opens the form of a verb; its text is `title`, unless one is given. */
    const formChoice = <V extends keyof typeof FORMS>(
      title: string,
      verb: V,
      submit: string,
      given: Partial<Verbs[V]>,
      value: Record<string, string> = {},
      text = title,
      off = false,
    ): Choice => ({
      text: `${text}\u2026`,
      off,
      run: () =>
        actions.form(title, verb, submit, given, Object.fromEntries(Object.entries(value).map(([name, value]) => [name, { value }]))),
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
            "insert_copy",
            "Insert",
            { names: selected, on: actions.tensorOf(of.name), pane: "destination" },
            {},
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
          "collapse",
          "Collapse",
          { names },
          {},
          `Collapse ${all} into a function`,
        ),
        "kind" in of && of.kind === "call" && { text: "Inline the call", run: () => post("inline", { names: [of.name] }) },
        /While$|^(LoopCond|Enter|NextIteration|Exit)$/.test(type) &&
          formChoice("Unroll the loop", "unroll", "Unroll", { loop: of.name }, { times: "3" }),
        /(If|Case|^Switch)$/.test(type) &&
          formChoice(
            "Fix the condition",
            "resolve_condition",
            "Keep that branch",
            { name: of.name },
            { value: /Case$/.test(type) ? "0" : "True" },
            "Fix condition",
          ),
        this.choice("type", pane, of, { run: () => this.type(pane, of) }),
      ],
      "The plan so far": [
        formChoice("Make the edits so far on copies", "on_copies", "Make copies", {}, {}, "Make these edits on copies", !plan.steps.length),
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
