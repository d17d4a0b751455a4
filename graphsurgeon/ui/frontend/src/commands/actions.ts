// Actions: the verb that a gesture sends, and the state of the page before the answer.
import type { Api, Result } from "../model/api";
import { CommandError, NO_KERNEL_TEXT } from "../model/api";
import { cameraHistory } from "../state/cameras";
import type { Pane } from "../canvas/pane";
import { Overlay } from "../canvas/overlay";
import { focus } from "../panels/dom";
import { isFold, isFoldName, isSame, opens } from "../state/places";
import type { Choice, FormField, Popup, Values } from "../panels/popup";
import { FORMS } from "../model/forms.generated";
import type { WidgetSize } from "../panels/size";
import { edgeTitle } from "../canvas/shapes";
import type { Item } from "../canvas/scene";
import type { Position } from "../panels/parts";
import type { Action } from "./keys";
import { type Picking, Store, type TwoEndEdit, type ViewState } from "../state/store";
import type { Model } from "../model/api";
import type {
  Attributes,
  Box,
  Details,
  Edge,
  EdgeTensors,
  Group,
  Mode,
  PaneName,
  RunReport,
  Status,
  Verbs,
} from "../model/types.generated";

export const TWO_END_EDITS: Record<
  TwoEndEdit,
  { menu: string; /** the second end */ other: string; key?: string; /** whether it is about ops, not their tensors */ order?: true }
> = {
  reroute: { menu: "Reroute its consumers to\u2026", other: "the op whose output they should read", key: "r" },
  swap: { menu: "Swap its consumers with those of\u2026", other: "the other op" },
  add_control: { menu: "Run it after\u2026", other: "the op that should run first", order: true },
  reroute_control: { menu: "Reroute its waiting ops to\u2026", other: "the op that they should wait for", order: true },
};

/** What the actions use of the panels, which themselves import the actions. */
export interface Panels {
  inspector: {
    nothing(): void;
    waiting(name: string): void;
    several(names: string[], about?: Attributes): void;
    /** `marks`: whether the shown tensors can be marked. */
    show(name: string, details: Details, isOp: boolean, marks: boolean): void;
    edge(title: string, way: string, found: EdgeTensors, more: number, marks: boolean): void;
    tensorOf(op: string): string;
  };
  plan: { show(tab: string): void; copy(byKey: boolean): void; focusSummary(): void; focusMapping(): void };
  status: { show(text: string, level?: Status["level"]): void };
  search: { on: boolean; clear(): void; focus(): void; step(by: number): void };
}

/** The parts of the screen, and what the user can do with them. */
export abstract class Actions {
  readonly store = new Store();
  readonly overlay = new Overlay();
  readonly cameras;
  api!: Api;
  panes!: Record<PaneName, Pane>;
  inspector!: Panels["inspector"];
  plan!: Panels["plan"];
  status!: Panels["status"];
  popup!: Popup;
  search!: Panels["search"];
  size!: WidgetSize;
  #request = 0;

  constructor(readonly model: Model) {
    this.cameras = cameraHistory(model);
  }

  /** The view state. */
  get state(): Readonly<ViewState> {
    return this.store.state;
  }

  get selected(): Record<PaneName, ReadonlySet<string>> {
    return this.state.selected;
  }

  /** The boxes to act on: the selection of a pane, unless a box is given that is not part of it. */
  boxesOf(pane: Pane, of?: Box | Group): string[] {
    const selected = this.selected[pane.name];
    return !of || selected.has(of.name) ? [...selected] : [of.name];
  }

  /** The run that the pictures show. */
  get run(): RunReport | null {
    const run = this.model.get("run");
    return run && "tops" in run ? (run as RunReport) : null;
  }

  /** The active pane, in which keys act. */
  get pane(): Pane {
    return this.panes[this.state.active];
  }

  /** Makes a pane the active one. */
  activate(active: PaneName): void {
    if (this.state.active !== active) this.store.set({ active });
  }

  /** A pane or a box of it has the focus: the pane is the active one now, and a selected edge is deselected for a box. */
  paneFocused({ name }: Pane, onBox: boolean): void {
    this.activate(name);
    if (onBox && this.state.edge) this.store.set({ edge: null });
  }

  /** Focuses the current box of the active pane. */
  focusPane(): void {
    const { pane } = this,
      item = pane.current;
    if (item) pane.focus(item, false);
  }

  /** Whether the source is the graph that the plan changes. */
  get isSingleGraph(): boolean {
    return this.model.get("plan").same;
  }

  /** The reason why the boxes of a pane cannot be edited; empty if they can. */
  refusal(pane: Pane): string {
    const here = pane.name === "destination" || this.isSingleGraph;
    return here ? "" : `Edits are made in ${this.model.get("titles").destination}, on the right.`;
  }

  /** Does an action, by default with the current item. A menu opens at the point `at`, if there is one. */
  abstract do(action: Action, key?: string, at?: Position, given?: Item): void;

  /** Whether an action is offered: a saved page answers few verbs, a stopped kernel none. */
  abstract offers(action: Action): boolean;

  /** An action as an item of a menu or a bar for a box of a pane; none if the action cannot be done with it. */
  abstract choice(action: Action, pane: Pane, of?: Box | Group, more?: Partial<Choice>): Choice | false;

  /** Shows a message in the status line. */
  readonly notify = (text: string, level: Status["level"] = "info"): void => this.status.show(text, level);

  /** Whether the boxes of a pane can be edited; if they cannot, a message has the reason. */
  canEdit(pane: Pane): boolean {
    const no = this.refusal(pane);
    if (no) this.notify(no, "warn");
    return !no;
  }

  /** Whether the destination follows the camera of the source. */
  get follows(): boolean {
    return this.isSingleGraph && !!this.panes.source.scene;
  }

  /** The panes are one graph before and after the plan. */
  get isTwoStage(): boolean {
    return !!this.panes.destination.scene && this.isSingleGraph;
  }

  /** The reason why tensors of a pane cannot be marked; empty if they can. */
  markRefusal(pane: Pane): string {
    const here = pane.name === "source" || this.isSingleGraph;
    return here ? "" : `Mark the boundary in ${this.model.get("titles").source}, on the left.`;
  }

  /** The selection is no longer the result of the search. */
  #forget(): void {
    if (!this.state.similarTo) return;
    this.panes.source.drawing.markHits({});
    this.store.set({ similarTo: null });
  }

  /** Fades boxes at once, and sends the change to Python. */
  fade(keys: string[]): void {
    this.store.set({ faded: keys });
    void this.send("fade", { keys }).then(() => this.store.set({ faded: null }));
  }

  #report({ message }: Error): void {
    if (this.api.kernelStopped) this.notify(NO_KERNEL_TEXT, "warn");
    else this.notify(message, "error");
  }

  /** Sends the verb of a form; an error of Python is in the status line too, and the form stays open. */
  readonly call = async <V extends keyof Verbs>(verb: V, args: Verbs[V]): Promise<Result<V>> => {
    try {
      return await this.api.call(verb, args);
    } catch (error) {
      if (error instanceof CommandError) this.#report(error);
      throw error;
    }
  };

  /** Sends a verb; an error of Python is in the status line. */
  async send<V extends keyof Verbs>(verb: V, args: Verbs[V]): Promise<Result<V> | null> {
    try {
      return await this.call(verb, args);
    } catch (error) {
      if (error instanceof CommandError) return null;
      throw error;
    }
  }

  /** Opens the form of a verb. `given` has the arguments without a field, `more` has the values or other properties of fields, and
   * null for fields that are left out. */
  form<V extends keyof typeof FORMS>(
    title: string,
    verb: V,
    submit: string,
    given: Partial<Verbs[V]>,
    more: Record<string, string | Partial<FormField> | null> = {},
    done: (result: Result<V>) => unknown = () => {},
    note = "",
  ): void {
    const shown = FORMS[verb].filter(({ name }) => more[name] !== null),
      fields = shown.map((field: FormField) => {
        const own = more[field.name];
        return { ...field, ...(typeof own === "string" ? { value: own } : own) };
      });
    const send = async (values: Values) => done(await this.call(verb, { ...given, ...values } as Verbs[V]));
    this.popup.form(title, fields, submit, send, note);
  }

  /** Sends a verb that adds a copy to the plan, and shows the errors of the plan. */
  async paste<V extends "paste" | "duplicate">(verb: V, args: Verbs[V]): Promise<void> {
    if ((await this.send(verb, args)) !== null && this.model.get("plan").faults.length) this.plan.show("problems");
  }

  /** Sends a verb without waiting for its answer. */
  readonly post = <V extends keyof Verbs>(verb: V, args: Verbs[V]): void => void this.send(verb, args);

  /** An item of a menu that sends a verb. */
  readonly item = <V extends keyof Verbs>(text: string, verb: V, args: Verbs[V], more: Partial<Choice> = {}): Choice => ({
    text,
    verb,
    run: () => this.post(verb, args),
    ...more,
  });

  /** Takes Python's selections, unless selections of the page are not answered yet. */
  adopt(first = false): void {
    if (this.api.pending("select")) return;
    const old = this.selected.source,
      now = new Set(this.model.get("selected"));
    this.store.select("source", now, now.size && !isSame(old, now) ? { edge: null } : {});
    if (first || isSame(old, now)) return;
    void this.inspect(this.panes.source, true);
    // the view goes to a selection of Python; its scene may come with the same message
    if (now.size && !this.cameras.isReturning()) queueMicrotask(() => this.panes.source.lookAt([...now]));
  }

  /** Asks for a tensor of the graph that the plan changes: of the next box or edge that is clicked or chosen by Enter or Space. */
  readonly pick = (purpose: string, take: (tensor: string) => void): void => {
    const how = "click a box or an edge";
    this.store.set({ picking: this.#once({ purpose, how, take }) });
    this.notify(`${purpose}: ${how}, or go to it and press Space; Esc cancels.`);
    const { panes } = this,
      pane = panes[panes.destination.scene && !this.isSingleGraph ? "destination" : this.state.active];
    if (pane.current) pane.focus(pane.current);
  };

  /** A request that ends when something is chosen. */
  #once(asked: Picking): Picking {
    const take = (chosen: string) => {
      this.store.set({ picking: null, connecting: null });
      asked.take(chosen);
    };
    return { ...asked, take };
  }

  /** Takes the chosen tensor or op; a menu offers several tensors. */
  async #take(pane: Pane, name: string, edge?: Edge): Promise<void> {
    const { picking } = this.state;
    if (!picking) return;
    const no = this.refusal(pane);
    if (no) return this.notify(no.replace("Edits are made", "Choose a tensor"), "warn");
    if (picking.ops && !isFoldName(name)) return picking.take(name);
    if (picking.ops) return this.notify("Choose an op: unfold the scope (Enter).", "warn");
    const answer = edge ? (await this.edgeTensors(pane, edge))?.tensors : (await this.send("details", { pane: pane.name, name }))?.outputs,
      found = answer?.map(t => t.tensor);
    if (!found || this.state.picking !== picking) return;
    const { take } = picking;
    if (!found.length) this.notify(`'${name.slice(0, 80)}' has no output tensor: choose another box.`, "warn");
    else if (found.length === 1) take(found[0]!);
    else
      this.popup.choose(
        picking.purpose,
        found.slice(0, 40).map(tensor => ({ text: tensor, run: () => take(tensor) })),
      );
  }

  select(pane: Pane, names: string[], mode: Mode): void {
    if (this.state.picking) return names.length === 1 ? void this.#take(pane, names[0]!) : undefined;
    const old = this.selected[pane.name],
      next = new Set(mode === "set" ? [] : old);
    for (const name of names) {
      if (mode === "toggle" && next.has(name)) next.delete(name);
      else next.add(name);
    }
    const same = isSame(old, next);
    this.#forget();
    this.store.select(pane.name, next, { edge: null });
    if (!same && pane.name === "source") void this.send("select", { names, mode }).then(() => this.adopt());
    void this.inspect(pane);
  }

  /** Shows the selection in the inspector. With `again`, the user has not just selected it, so a missing box is not an error. */
  async inspect(pane: Pane, again = false): Promise<void> {
    const names = [...this.selected[pane.name]],
      name = names[0];
    const asked = ++this.#request;
    if (name === undefined) return this.inspector.nothing();
    if (names.length > 1) {
      this.inspector.several(names);
      if (!this.api.answers("attributes")) return;
      const about = await this.api.call("attributes", { names, pane: pane.name }).catch(() => null);
      if (about && asked === this.#request) this.inspector.several(names, about);
      return;
    }
    this.inspector.waiting(name);
    const details = await this.api.call("details", { pane: pane.name, name }).catch((error: CommandError) => error);
    if (asked !== this.#request) return;
    if (details instanceof Error) {
      this.inspector.nothing();
      if (!again) this.#report(details);
    } else if (details) this.inspector.show(name, details, !isFoldName(name), !this.markRefusal(pane));
  }

  /** Selects an edge and no box, or takes its tensor if one is asked for. With its `place` among the edges of a box, only selects it. */
  showEdge(pane: Pane, edge: Edge, place = ""): void {
    if (this.state.picking && !place) return edge.control ? undefined : void this.#take(pane, this.ends(pane, edge)[0]!.name, edge);
    this.select(pane, [], "set");
    this.#request++;
    this.store.set({ edge });
    const [from, to] = this.ends(pane, edge).map(box => box.label),
      asked = this.#request,
      show = (found: EdgeTensors, more: number) => {
        this.inspector.edge(edgeTitle(edge), `${from} \u2192 ${to}`, found, more, !this.markRefusal(pane));
        const what = `${edge.control ? "" : "edge: "}${edgeTitle(edge)}${edge.count > 1 ? ` from ${from}` : ""} to ${to}`;
        pane.drawing.nameEdge([what, edge.count > 1 ? "" : found.tensors[0]?.text, place].filter(Boolean).join(", "));
      };
    show({ tensors: [], values: [] }, 0);
    void this.edgeTensors(pane, edge).then(found => {
      if (found && asked === this.#request) show(found, edge.count - found.tensors.length);
    });
    focus(pane.drawing.edge);
  }

  /** The boxes at the ends of an edge. */
  ends(pane: Pane, { from, to }: Edge): [from: Box, to: Box] {
    const box = (id: string) => pane.scene!.boxes.find(box => box.id === id)!;
    return [box(from), box(to)];
  }

  /** The tensors of an edge, and their values in a run. */
  edgeTensors(pane: Pane, edge: Edge): Promise<EdgeTensors | null> {
    const [{ name: source }, { name: target }] = this.ends(pane, edge);
    return this.send("edge_tensors", { source, target, control: !!edge.control, pane: pane.name });
  }

  open(pane: Pane, item: Box | Group): void {
    if (!opens(item)) return;
    pane.keep(item.name);
    pane.drawing.opening(item.name, true);
    void this.send("kind" in item ? "unfold" : "fold", { pane: pane.name, name: item.name }).then(done => {
      if (done !== null) return;
      pane.keep(null);
      pane.drawing.opening(item.name, false);
    });
  }

  /** Goes to a box, even if it is folded; with `focus` false the keyboard focus does not move. */
  reveal(pane: PaneName, name: string, focus = true): void {
    // the scene may come long after the answer: a layout takes its time
    this.panes[pane].goTo(name, focus);
    void this.send("reveal", { pane, name }).then(() => this.panes[pane].arrive());
  }

  /** The tensor that a key on the current box means; without one, a message has the reason. The scope of a layer is allowed too. */
  tensor(pane: Pane, scope = false): string | null {
    const { edge } = this.state;
    if (edge) return edge.tensor;
    const of = pane.current?.of;
    if (!of) this.notify("Select an op.", "warn");
    else if (scope && isFoldName(of.name)) return of.name;
    else if (isFold(of)) this.notify(`'${of.name.slice(0, 80)}' is a scope: unfold it (Enter).`, "warn");
    else if ("outputs" in of && of.kind === "op" && of.outputs === 0)
      this.notify(`'${of.name.slice(0, 80)}' has no output tensor.`, "warn");
    else return this.inspector.tensorOf(of.name);
    return null;
  }

  /** Copies the region or the selection; without either, the current box. By key, the focus then goes to its sources. */
  async copy(how: Verbs["copy"], byKey = false): Promise<void> {
    const { source } = this.panes,
      of = !this.state.edge && source.current?.of;
    if (byKey && !this.model.get("boundary").ops && !this.selected.source.size && of) this.select(source, [of.name], "set");
    if ((await this.send("copy", how)) === null) return;
    const { faults, inputs } = this.model.get("plan");
    this.plan.show(faults.length ? "problems" : inputs?.length ? "mapping" : "steps");
    if (byKey && !faults.length) this.plan.focusMapping();
  }

  /** The output of an op for keys: the output chosen in the inspector, or the first. */
  tensorOf(op: string): string {
    return this.inspector.tensorOf(op);
  }

  /** An end of an edit with two ends: an op for edits of control inputs, else a tensor. */
  #end(pane: Pane, verb: TwoEndEdit): string | null {
    const of = pane.current?.of;
    return TWO_END_EDITS[verb].order && of && !isFold(of) ? of.name : this.tensor(pane);
  }

  /** The box that the first end of an edit is at: the start of the selected edge, or else the current box. */
  startBox(pane: Pane): string | undefined {
    const { edge } = this.state;
    return (edge ? this.ends(pane, edge)[0] : pane.current?.of)?.name;
  }

  /** Takes the first of two ends: the end of the current box, or a tensor of an edge. */
  startEdit(pane: Pane, verb: TwoEndEdit, of?: { tensor: string; box: string; only: string[] }): void {
    const tensor = of?.tensor ?? this.#end(pane, verb),
      box = of?.box ?? this.startBox(pane);
    if (!tensor || box === undefined || !this.canEdit(pane)) return;
    const only = of?.only ?? [],
      act = (to: string) => {
        if (verb === "reroute") this.post(verb, { old: tensor, to, only });
        else if (verb === "swap") this.post(verb, { a: tensor, b: to });
        else if (verb === "add_control") this.post(verb, { op: tensor, after: to });
        else this.post(verb, { old: tensor, to });
      };
    const { other, key, order } = TWO_END_EDITS[verb],
      purpose = tensor.slice(0, 80),
      picking = { purpose, how: `click ${other}`, ops: order, from: { verb, pane: pane.name, box }, take: act };
    // the edge that was chosen for the first end must not be the second end
    this.store.set({ picking: this.#once(picking), connecting: null, edge: null });
    this.notify(`${purpose}: go to ${other} and press ${key ?? "Enter"}; Esc cancels.`);
  }

  /** Takes the second end of an edit by a key. */
  completeEdit(pane: Pane): void {
    const { from, take } = this.state.picking!,
      end = this.canEdit(pane) && this.#end(pane, from!.verb);
    if (end) take(end);
  }

  readonly cancelConnection = (): void => this.store.set({ connecting: null });

  apply(): void {
    const plan = this.model.get("plan");
    if (!plan.ready) {
      this.notify(plan.faults.length ? "The plan has errors: see below." : "There is no plan to apply.", "warn");
      if (plan.faults.length) this.plan.show("problems");
      return;
    }
    const go = () => this.post("apply", {});
    if (!plan.warnings.length) return go();
    this.popup.form(
      `Apply with ${plan.warnings.length === 1 ? "a warning" : `${plan.warnings.length} warnings`}?`,
      [],
      "Apply",
      go,
      plan.warnings,
    );
  }

  /** Esc cancels a connection, else a running layout, else it clears the selections. */
  escape(pane: Pane): void {
    const drags = Object.values(this.panes).map(one => one.pointer.stop());
    if (this.state.connecting || this.state.picking || drags.includes(true)) {
      this.store.set({ connecting: null, picking: null });
      this.notify("Cancelled.");
    } else if (this.state.lens) this.store.set({ lens: null });
    else if (this.model.get("status").level === "busy" || this.api.pending()) this.post("cancel", {});
    else if (this.search.on) this.search.clear();
    else if (this.size.full && !this.selected[pane.name].size && !this.state.edge) this.size.fill(false);
    else this.select(pane, [], "set");
  }
}
