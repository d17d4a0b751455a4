// Actions: the verb that a gesture sends, and the state of the page before the answer.
import type { Api, Result } from "../model/api";
import { CommandError, NO_KERNEL_TEXT } from "../model/api";
import type { CameraHistory } from "../state/cameras";
import type { Inspector } from "../panels/inspector";
import type { Pane } from "../canvas/pane";
import type { Overlay } from "../canvas/overlay";
import { isFold, opens } from "../state/places";
import type { PlanBar } from "../panels/planbar";
import type { Popup } from "../panels/popup";
import type { WidgetSize } from "../panels/size";
import type { Search } from "../panels/search";
import { edgeTitle } from "../canvas/shapes";
import type { StatusBar } from "../panels/statusbar";
import type { Picking, Store, TwoEnds, ViewState } from "../state/store";
import type { Model } from "../model/api";
import type { Box, Edge, EdgeTensors, Group, Mode, PaneName, TensorText, Verbs } from "../model/types.generated";

export type TwoEndEdit = Exclude<TwoEnds, "connect">;

export const TWO_END_EDITS: Record<
  TwoEndEdit,
  { menu: string; /** the second end */ other: string; key?: string; /** whether it is about ops, not their tensors */ order?: true }
> = {
  reroute: { menu: "Reroute its consumers to\u2026", other: "the op whose output they should read", key: "r" },
  swap: { menu: "Swap its consumers with those of\u2026", other: "the other op" },
  add_control: { menu: "Run it after\u2026", other: "the op that should run first", order: true },
  reroute_control: { menu: "Reroute its waiting ops to\u2026", other: "the op that they should wait for", order: true },
};

export interface Parts {
  model: Model;
  api: Api;
  store: Store;
  panes: Record<PaneName, Pane>;
  inspector: Inspector;
  plan: PlanBar;
  status: StatusBar;
  popup: Popup;
  overlay: Overlay;
  search: Search;
  size: WidgetSize;
  cameras: CameraHistory;
  /** shows before, after or both */ stages(): void;
  /** goes to the next change of the plan, or with -1 to the one before */ changes(by: 1 | -1): void;
}

export class Actions {
  #request = 0;

  constructor(readonly ui: Parts) {}

  /** The view state. */
  get state(): Readonly<ViewState> {
    return this.ui.store.state;
  }

  get selected(): Record<PaneName, ReadonlySet<string>> {
    return this.state.selected;
  }

  /** The active pane, in which keys act. */
  get pane(): Pane {
    return this.ui.panes[this.state.active];
  }

  /** The reason why the boxes of a pane cannot be edited; empty if they can. */
  refusal(pane: Pane): string {
    const here = pane.name === "destination" || this.ui.model.get("plan").same;
    return here ? "" : `Edits are made in ${this.ui.model.get("titles").destination}, on the right.`;
  }

  /** Whether the boxes of a pane can be edited; if they cannot, a message has the reason. */
  canEdit(pane: Pane): boolean {
    const no = this.refusal(pane);
    if (no) this.ui.status.show(no, "warn");
    return !no;
  }

  /** Whether the destination follows the camera of the source. */
  get follows(): boolean {
    return this.ui.model.get("plan").same && !!this.ui.panes.source.scene;
  }

  /** The panes are one graph before and after the plan. */
  get isTwoStage(): boolean {
    return !!this.ui.panes.destination.scene && this.ui.model.get("plan").same;
  }

  /** The reason why tensors of a pane cannot be marked; empty if they can. */
  markRefusal(pane: Pane): string {
    const here = pane.name === "source" || this.ui.model.get("plan").same;
    return here ? "" : `Mark the boundary in ${this.ui.model.get("titles").source}, on the left.`;
  }

  /** The selection is no longer the result of the search. */
  #forget(): void {
    if (!this.state.similarTo) return;
    this.ui.panes.source.drawing.markHits({});
    this.ui.store.set({ similarTo: null });
  }

  /** Fades boxes at once, and sends the change to Python. */
  fade(keys: string[]): void {
    this.ui.store.set({ faded: keys });
    void this.send("fade", { keys }).then(() => this.ui.store.set({ faded: null }));
  }

  #report({ message }: Error): void {
    if (this.ui.api.kernelStopped) this.ui.status.show(NO_KERNEL_TEXT, "warn");
    else this.ui.status.show(message, "error");
  }

  /** Sends the verb of a form; an error of Python is in the status line too, and the form stays open. */
  readonly call = async <V extends keyof Verbs>(verb: V, args: Verbs[V]): Promise<Result<V>> => {
    try {
      return await this.ui.api.call(verb, args);
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

  /** Sends a verb without waiting for its answer. */
  readonly post = <V extends keyof Verbs>(verb: V, args: Verbs[V]): void => void this.send(verb, args);

  /** Takes Python's selections, unless selections of the page are not answered yet. */
  adopt(first = false): void {
    if (this.ui.api.pending("select")) return;
    const old = this.selected.source,
      now = new Set(this.ui.model.get("selected"));
    this.ui.store.select("source", now);
    if (first || (old.size === now.size && [...now].every(n => old.has(n)))) return;
    void this.inspect(this.ui.panes.source, true);
    // the view goes to a selection of Python; its scene may come with the same message
    if (now.size && !this.ui.cameras.returning) queueMicrotask(() => this.ui.panes.source.lookAt([...now]));
  }

  /** Asks for a tensor of the graph that the plan changes: of the next box or edge that is clicked or chosen by Enter or Space. */
  pick(purpose: string, take: (tensor: string) => void): void {
    const how = "click a box or an edge";
    this.ui.store.set({ picking: this.#once({ purpose, how, take }) });
    this.ui.status.show(`${purpose}: ${how}, or go to it and press Space; Esc cancels.`);
    const { panes } = this.ui,
      pane = panes[panes.destination.scene && !this.ui.model.get("plan").same ? "destination" : this.state.active];
    if (pane.current) pane.focus(pane.current);
  }

  /** A request that ends when something is chosen. */
  #once(asked: Picking): Picking {
    const take = (chosen: string) => {
      this.ui.store.set({ picking: null, pendingEdit: null });
      asked.take(chosen);
    };
    return { ...asked, take };
  }

  /** Takes the chosen tensor or op; a menu offers several tensors. */
  async #take(pane: Pane, name: string, edge?: Edge): Promise<void> {
    const { picking } = this.state;
    if (!picking) return;
    const no = this.refusal(pane);
    if (no) return this.ui.status.show(no.replace("Edits are made", "Choose a tensor"), "warn");
    if (picking.ops && !/^~|\/$/.test(name)) return picking.take(name);
    if (picking.ops) return this.ui.status.show("Choose an op: unfold the scope (Enter).", "warn");
    const answer = edge ? await this.tensorsOf(pane, edge) : (await this.send("details", { pane: pane.name, name }))?.outputs,
      found = answer?.map(t => t.tensor);
    if (!found || this.state.picking !== picking) return;
    const { take } = picking;
    if (!found.length) this.ui.status.show(`'${name.slice(0, 80)}' has no output tensor: choose another box.`, "warn");
    else if (found.length === 1) take(found[0]!);
    else
      this.ui.popup.choose(
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
    const same = next.size === old.size && [...next].every(n => old.has(n));
    this.#forget();
    this.ui.store.select(pane.name, next, { edge: null });
    if (!same && pane.name === "source") void this.send("select", { names, mode }).then(() => this.adopt());
    void this.inspect(pane);
  }

  /** Shows the selection in the inspector. With `again`, the user has not just selected it, so a missing box is not an error. */
  async inspect(pane: Pane, again = false): Promise<void> {
    const names = [...this.selected[pane.name]],
      name = names[0];
    const asked = ++this.#request;
    if (name === undefined) return this.ui.inspector.nothing();
    if (names.length > 1) {
      this.ui.inspector.several(names);
      if (!this.ui.api.answers("attributes")) return;
      const about = await this.ui.api.call("attributes", { names, pane: pane.name }).catch(() => null);
      if (about && asked === this.#request) this.ui.inspector.several(names, about);
      return;
    }
    this.ui.inspector.marks = !this.markRefusal(pane);
    this.ui.inspector.waiting(name);
    const details = await this.ui.api.call("details", { pane: pane.name, name }).catch((error: CommandError) => error);
    if (asked !== this.#request) return;
    if (details instanceof Error) {
      this.ui.inspector.nothing();
      if (!again) this.#report(details);
    } else if (details) this.ui.inspector.show(name, details, !name.endsWith("/") && !name.startsWith("~"));
  }

  /** Selects an edge and no box, or takes its tensor if one is asked for. With its `place` among the edges of a box, only selects it. */
  showEdge(pane: Pane, edge: Edge, place = ""): void {
    if (this.state.picking && !place) return edge.control ? undefined : void this.#take(pane, this.ends(pane, edge)[0]!.name, edge);
    this.select(pane, [], "set");
    this.#request++;
    this.ui.store.set({ edge });
    this.ui.inspector.marks = !this.markRefusal(pane);
    const [from, to] = this.ends(pane, edge).map(box => box.label),
      asked = this.#request,
      show = (found: EdgeTensors, more: number) => {
        this.ui.inspector.edge(edgeTitle(edge), `${from} \u2192 ${to}`, found, more);
        const what = `${edge.control ? "" : "edge: "}${edgeTitle(edge)}${edge.count > 1 ? ` from ${from}` : ""} to ${to}`;
        pane.drawing.nameEdge([what, edge.count > 1 ? "" : found.tensors[0]?.text, place].filter(Boolean).join(", "));
      };
    show({ tensors: [], values: [] }, 0);
    void this.#edgeTensors(pane, edge).then(found => {
      if (found && asked === this.#request) show(found, edge.count - found.tensors.length);
    });
  }

  /** The boxes at the ends of an edge. */
  ends(pane: Pane, edge: Edge): Box[] {
    return [edge.from, edge.to].map(id => pane.scene!.boxes.find(box => box.id === id)!);
  }

  #edgeTensors(pane: Pane, edge: Edge): Promise<EdgeTensors | null> {
    const [source, target] = this.ends(pane, edge).map(box => box.name) as [string, string];
    return this.send("edge_tensors", { source, target, control: !!edge.control, pane: pane.name });
  }

  /** The tensors of an edge. */
  async tensorsOf(pane: Pane, edge: Edge): Promise<TensorText[] | undefined> {
    return (await this.#edgeTensors(pane, edge))?.tensors;
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
    this.ui.panes[pane].goTo(name, focus);
    void this.send("reveal", { pane, name }).then(() => this.ui.panes[pane].arrive());
  }

  /** The tensor that a key on the current box means; without one, a message has the reason. The scope of a layer is allowed too. */
  tensor(pane: Pane, scope = false): string | null {
    const { edge } = this.state;
    if (edge) return edge.tensor;
    const of = pane.current?.of;
    if (!of) this.ui.status.show("Select an op.", "warn");
    else if (scope && (of.name.endsWith("/") || of.name.startsWith("~"))) return of.name;
    else if (isFold(of)) this.ui.status.show(`'${of.name.slice(0, 80)}' is a scope: unfold it (Enter).`, "warn");
    else if ("outputs" in of && of.kind === "op" && of.outputs === 0)
      this.ui.status.show(`'${of.name.slice(0, 80)}' has no output tensor.`, "warn");
    else return this.ui.inspector.tensorOf(of.name);
    return null;
  }

  /** Copies the region or the selection; without either, the current box. By key, the focus then goes to its sources. */
  async copy(how: Verbs["copy"], byKey = false): Promise<void> {
    const { source } = this.ui.panes,
      of = !this.state.edge && source.current?.of;
    if (byKey && !this.ui.model.get("boundary").ops && !this.selected.source.size && of) this.select(source, [of.name], "set");
    if ((await this.send("copy", how)) === null) return;
    const { faults, inputs } = this.ui.model.get("plan");
    this.ui.plan.show(faults.length ? "problems" : inputs?.length ? "mapping" : "steps");
    if (byKey && !faults.length) this.ui.plan.focusMapping();
  }

  /** The output of an op for keys: the output chosen in the inspector, or the first. */
  tensorOf(op: string): string {
    return this.ui.inspector.tensorOf(op);
  }

  /** An end of an edit with two ends: an op for edits of control inputs, else a tensor. */
  #end(pane: Pane, verb: TwoEnds): string | null {
    const of = pane.current?.of;
    return verb !== "connect" && TWO_END_EDITS[verb].order && of && !isFold(of) ? of.name : this.tensor(pane, verb === "connect");
  }

  /** Takes the first of two ends: the end of the current box, or a tensor of an edge. */
  startEdit(pane: Pane, verb: TwoEnds, of?: { tensor: string; box: string; only: string[] }): void {
    const tensor = of?.tensor ?? this.#end(pane, verb),
      box = of?.box ?? (this.state.edge ? this.ends(pane, this.state.edge)[0]! : pane.current?.of)?.name;
    if (!tensor || box === undefined) return;
    if (verb !== "connect" && !this.canEdit(pane)) return;
    const only = of?.only ?? [],
      act = (to: string) => {
        if (verb === "reroute") this.post(verb, { old: tensor, to, only });
        else if (verb === "swap") this.post(verb, { a: tensor, b: to });
        else if (verb === "add_control") this.post(verb, { op: tensor, after: to });
        else if (verb === "reroute_control") this.post(verb, { old: tensor, to });
      };
    const second = verb === "connect" ? null : TWO_END_EDITS[verb],
      purpose = tensor.slice(0, 80),
      picking = second && { purpose, how: `click ${second.other}`, ops: second.order, take: act };
    // the edge that was chosen for the first end must not be the second end
    this.ui.store.set({
      pendingEdit: { verb, tensor, pane: pane.name, box },
      picking: picking && this.#once(picking),
      candidates: null,
      edge: null,
    });
    const ask = second ? `go to ${second.other} and press ${second.key ?? "Enter"}` : "go to the box that should read it and press m again";
    this.ui.status.show(`${purpose}: ${ask}; Esc cancels.`);
  }

  /** Takes the second end of an edit by a key. */
  completeEdit(pane: Pane): void {
    const { pendingEdit, picking } = this.state,
      end = this.canEdit(pane) && this.#end(pane, pendingEdit!.verb);
    if (end) picking!.take(end);
  }

  apply(): void {
    const plan = this.ui.model.get("plan");
    if (!plan.ready) {
      this.ui.status.show(plan.faults.length ? "The plan has errors: see below." : "There is no plan to apply.", "warn");
      if (plan.faults.length) this.ui.plan.show("problems");
      return;
    }
    const go = () => this.post("apply", {});
    if (!plan.warnings.length) return go();
    this.ui.popup.confirm(
      `Apply with ${plan.warnings.length === 1 ? "a warning" : `${plan.warnings.length} warnings`}?`,
      plan.warnings,
      "Apply",
      go,
    );
  }

  /** Esc cancels a connection, else a running layout, else it clears the selections. */
  escape(pane: Pane): void {
    const drags = Object.values(this.ui.panes).map(one => one.pointer.stop());
    if (this.state.pendingEdit || this.state.picking || drags.includes(true)) {
      this.ui.store.set({ pendingEdit: null, candidates: null, picking: null });
      this.ui.status.show("Cancelled.");
    } else if (this.state.lens) this.ui.store.set({ lens: null });
    else if (this.ui.model.get("status").level === "busy" || this.ui.api.pending()) this.post("cancel", {});
    else if (this.ui.search.on) this.ui.search.clear();
    else if (this.ui.size.full && !this.selected[pane.name].size) this.ui.size.fill(false);
    else this.select(pane, [], "set");
  }
}
