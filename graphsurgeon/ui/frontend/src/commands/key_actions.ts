// The actions of the keys.
import { Actions, type Parts } from "./actions";
import { BoxDrag } from "../canvas/drag_boxes";
import { BoxMenu } from "./box_menu";
import { EdgeMenu } from "./edge_menu";
import { Edits } from "./edits";
import { focus } from "../panels/dom";
import { below, corner, Navigation } from "./navigation";
import { choiceOf } from "./choices";
import { type Action, KEYS, verbOf } from "./keys";
import { Lens } from "../canvas/lens";
import { openPalette } from "./palette";
import type { Pane } from "../canvas/pane";
import type { Drag } from "../canvas/pointer";
import { around, edgesOf, isFold, neighbor, opens, type Step } from "../state/places";
import { SaveDialog } from "./save";
import { Appearance } from "./appearance";
import { Recipes } from "./recipes";
import { Runs } from "./runs";
import type { Item } from "../canvas/scene";
import type { Mode, Rect } from "../model/types.generated";
import { TensorDrag } from "../canvas/drag_tensor";
import type { Choice, Position } from "../panels/popup";
import { middleOf } from "../canvas/edge_hit";

const BY_KEY = new Map(KEYS.flatMap(([action, keys]) => keys.map(key => [key, action] as const)));

/** Actions that are about a plan, and send nothing that must be answered. */
const OF_PLANS: Action[] = ["plan_view", "change", "change_before"];

type Pressed = Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "shiftKey" | "altKey">;

/** The action of a key press, or null. Cmd counts as Ctrl. */
export function actionOf(e: Pressed): Action | null {
  if (e.altKey) return null;
  const command = e.ctrlKey || e.metaKey;
  let key = e.key;
  if (command && key.length === 1 && e.shiftKey) key = key.toUpperCase();
  else if (!e.shiftKey && key.length === 1) key = key.toLowerCase();
  // characters that need Shift on some keyboards ("+", "?", "/") are matched without Shift
  const shift = e.shiftKey && (key.length > 1 || /[A-Z]/.test(key));
  return BY_KEY.get(`${command ? "Ctrl+" : ""}${shift ? "Shift+" : ""}${key}`) ?? null;
}

/** Calls a function with the active pane and its current item. */
type Effect = (pane: Pane, item: Item | null, key: string) => unknown;

export class KeyActions {
  readonly actions: Actions;
  readonly edits: Edits;
  readonly boxes: BoxMenu;
  readonly edges: EdgeMenu;
  readonly navigation: Navigation;
  readonly appearance: Appearance;
  readonly recipes: Recipes;
  readonly runs: Runs;
  readonly tensorDrag: TensorDrag;
  readonly lens: Lens;
  readonly boxDrag: BoxDrag;
  readonly #effects: Record<Action, Effect>;

  constructor(parts: Parts) {
    this.actions = new Actions(parts);
    this.boxDrag = new BoxDrag(this.actions);
    this.edits = new Edits(this.actions, this.boxDrag);
    this.edges = new EdgeMenu(this.actions, this.edits);
    this.navigation = new Navigation(this.actions);
    this.appearance = new Appearance(this.actions);
    this.recipes = new Recipes(this.actions);
    this.runs = new Runs(this.actions);
    this.tensorDrag = new TensorDrag(this.actions, this.edits);
    this.lens = new Lens(this.actions);
    this.boxes = new BoxMenu(this);
    this.#effects = this.#table();
  }

  /** Whether an action is offered: a saved page answers few verbs, a stopped kernel none. */
  offers = (action: Action): boolean => {
    const { api, model } = this.actions.ui,
      verb = verbOf(action);
    return (!verb || api.answers(verb)) && !(model.get("still") && OF_PLANS.includes(action));
  };

  /** Does the action of a key. */
  do = (action: Action, key = ""): void => {
    const { actions } = this,
      pane = actions.pane,
      item = pane.isOnEdge ? null : pane.current,
      { pendingEdit } = actions.state;
    const second = ["open", "reroute", "connect"].includes(action) && !(action === "open" && item && opens(item.of));
    if (pendingEdit && pendingEdit.verb !== "connect" && pane.current && second) actions.completeEdit(pane);
    else this.#effects[action](pane, item, key);
  };

  /** The effects of the actions. */
  #table(): Record<Action, Effect> {
    const { actions } = this,
      { ui: p } = actions;
    const go =
      (step: Step): Effect =>
      pane => {
        const next = pane.scene && pane.current && neighbor(pane.scene, pane.current.of, step);
        const found = next && pane.drawing.find(next.name);
        if (found) pane.focus(found);
      };
    const end =
      (at: number): Effect =>
      pane => {
        const found = pane.drawing.itemAt([...pane.drawing.root.querySelectorAll(".gs-layer-boxes > .gs-item")].at(at) ?? null);
        if (found && "g" in found) pane.focus(found);
      };
    const select =
      (mode: Mode): Effect =>
      (pane, item) => {
        const { edge, picking } = actions.state;
        if (item) actions.select(pane, [item.of.name], mode);
        else if (edge && picking) actions.showEdge(pane, edge);
      };
    const mark =
      (verb: "mark_input" | "mark_output"): Effect =>
      pane => {
        const no = actions.markRefusal(pane),
          tensor = no ? p.status.show(no, "warn") : actions.tensor(pane, true);
        if (tensor) actions.post(verb, { tensor });
      };
    const remove =
      (stitch: boolean): Effect =>
      (pane, item) =>
        item && this.edits.remove(pane, item.of, stitch);
    const along =
      (way: "producer" | "consumer"): Effect =>
      pane =>
        void this.navigation.along(pane, way);
    const step =
      (way: "back" | "forward"): Effect =>
      () =>
        this.navigation.step(way);
    const zoom =
      (factor: number): Effect =>
      pane =>
        pane.zoom(factor);
    return {
      up: go("up"),
      down: go("down"),
      left: go("left"),
      right: go("right"),
      first: end(0),
      last: end(-1),
      select: select("set"),
      toggle: select("toggle"),
      edge: pane => this.#edge(pane, 1),
      edge_before: pane => this.#edge(pane, -1),
      open: (pane, item) => {
        if (!item) this.#otherEnd(pane);
        else if (opens(item.of)) actions.open(pane, item.of);
        else actions.select(pane, [item.of.name], "set");
      },
      input: mark("mark_input"),
      output: mark("mark_output"),
      boundary: () => p.plan.focusSummary(),
      mark_boundary: () => actions.post("mark_boundary", {}),
      copy_to_clipboard: (pane, item) => this.boxDrag.copy(pane, item),
      cut: (pane, item) => this.boxDrag.cut(pane, item),
      paste: () => this.boxDrag.paste(),
      duplicate: (pane, item) => this.boxDrag.duplicate(pane, item),
      lens: pane => this.lens.toggle(pane),
      isolate: pane => this.lens.isolate(pane),
      between: pane => this.lens.between(pane),
      show_path: pane => void this.lens.showPath(pane),
      near: () => void this.near(),
      all: pane =>
        actions.select(
          pane,
          (pane.scene?.boxes ?? []).map(box => box.name),
          "set",
        ),
      copy: () => p.plan.copy(true),
      connect: pane => void this.tensorDrag.connect(pane),
      reroute: pane => actions.startEdit(pane, "reroute"),
      remove: remove(false),
      stitch: remove(true),
      type: (pane, item) => item && this.edits.type(pane, item.of),
      attribute: (pane, item) => item && this.edits.attribute(pane, item.of),
      edit: (pane, item) => item && this.edits.menu(pane, item.of, below(pane)!),
      undo: () => actions.post("undo", {}),
      redo: () => actions.post("redo", {}),
      apply: () => actions.apply(),
      save: () => void new SaveDialog(actions).open(),
      recipes: () => void this.recipes.menu(),
      search: () => p.search.focus(),
      palette: () => void openPalette(this),
      hit: () => p.search.step(1),
      hit_before: () => p.search.step(-1),
      seen: pane => this.appearance.menu(pane.name),
      train: () => this.appearance.train(),
      run: () => void this.runs.open(),
      try: () => void this.runs.open("plan"),
      full: () => p.size.fill(),
      plan_view: () => p.stages(),
      change: () => p.changes(1),
      change_before: () => p.changes(-1),
      fit: pane => pane.fit(),
      in: zoom(1.25),
      out: zoom(1 / 1.25),
      actual: pane => pane.zoom(1 / pane.view.k),
      menu: (pane, item) => {
        const { edge } = actions.state;
        if (edge) void this.edges.menu(pane, edge, below(pane)!);
        else if (item) this.boxes.menu(pane, item.of, below(pane)!);
      },
      producer: along("producer"),
      consumer: along("consumer"),
      back: step("back"),
      forward: step("forward"),
      views: () => this.navigation.menu(p.panes.source),
      view: (_pane, _item, key) => this.navigation.showNumber(p.panes.source, +key),
      map: () => {
        for (const { map } of Object.values(p.panes)) map.setVisible(!map.isWanted);
      },
      escape: pane => actions.escape(pane),
      help: () => p.popup.help(action => p.api.kernelStopped || this.offers(action)),
    };
  }

  /** Goes from the current box, or from an edge of it, to its next edge. */
  #edge(pane: Pane, by: 1 | -1): void {
    const { actions } = this,
      of = pane.current?.of,
      edges = of && pane.scene ? edgesOf(pane.scene, of) : [],
      at = edges.indexOf(actions.state.edge!),
      next = at < 0 && by < 0 ? edges.length - 1 : (at + by + edges.length) % edges.length,
      edge = edges[next];
    if (!edge) return actions.ui.status.show("This box has no edges.", "warn");
    actions.showEdge(pane, edge, `${next + 1} of ${edges.length}`);
    focus(pane.drawing.edge);
  }

  /** Goes from an edge of the current box to the other end of the edge. */
  #otherEnd(pane: Pane): void {
    const { edge } = this.actions.state,
      id = edge?.[edge.from === pane.current?.of.id ? "to" : "from"],
      box = pane.scene?.boxes.find(one => one.id === id);
    if (box) pane.focus(pane.drawing.find(box.name)!);
  }

  /** Whether ops can be inserted on the edges of a pane now. */
  inserts(pane: Pane): boolean {
    const { picking, pendingEdit } = this.actions.state;
    return !picking && !pendingEdit && !this.actions.refusal(pane) && this.actions.ui.api.answers("insert");
  }

  /** The selected boxes or the selected edge of a pane, and the actions of the bar there. */
  atSelection(pane: Pane): [Rect | null, Choice[]] {
    const { actions, edits } = this,
      { api, model } = actions.ui,
      { edge, picking, pendingEdit } = actions.state,
      boxes = [...actions.selected[pane.name]].flatMap(name => pane.drawing.find(name)?.of ?? []),
      of = boxes.at(-1);
    if (!pane.scene || pane !== actions.pane || picking || pendingEdit || !api.answers("rename") || (!edge && !of)) return [null, []];
    if (edge && !pane.scene.edges.includes(edge)) return [null, []]; // it is in the other pane
    const off = !!actions.refusal(pane),
      place = (): Position => {
        const { left: x, bottom: y } = pane.bar.element.getBoundingClientRect();
        return { x, y };
      };
    if (edge) {
      const one = edge.count === 1 && !edge.control,
        [x, y] = middleOf(pane.scene, edge);
      return [
        { x, y, w: 0, h: 0 },
        [
          { text: "Insert op\u2026", verb: "insert", off: off || !one, run: () => this.edges.insert(pane, edge) },
          { text: "More\u2026", run: () => void this.edges.menu(pane, edge, place()) },
        ],
      ];
    }
    const one = boxes.length === 1,
      single = one && !isFold(of!),
      inSource = pane.name === "source";
    const choices: (Choice | false)[] = [
      one && opens(of!) && choiceOf("open", "kind" in of! ? "Unfold" : "Fold", () => actions.open(pane, of!)),
      inSource && choiceOf("copy", model.get("boundary").ops ? "Copy region\u2026" : "Copy to scope\u2026", () => this.do("copy")),
      inSource && choiceOf("mark_boundary", "Mark boundary", () => this.do("mark_boundary")),
      single && { text: "Insert op\u2026", verb: "insert", off, run: () => edits.insert(actions.tensorOf(of!.name)) },
      choiceOf("type", "Replace similar\u2026", () => edits.type(pane, of!), { off }),
      choiceOf("stitch", "Remove", () => edits.remove(pane, of!, true), { off }),
      one && !of!.name.startsWith("~") && { text: "Rename\u2026", verb: "rename", off, run: () => edits.attrs.rename(of!.name) },
      { text: "More\u2026", run: () => this.boxes.menu(pane, of!, place()) },
    ];
    return [around(boxes), choices.filter(c => !!c)];
  }

  /** Boundaries near the selection: each is shown while the pointer is on it. */
  async near(at?: Position): Promise<void> {
    const { actions } = this,
      { popup, store, panes } = actions.ui,
      found = await actions.send("suggest_boundaries", {});
    if (!found) return;
    popup.choose(
      found.length ? "Boundaries near the selection" : "No boundary nearby: the selection depends on no input",
      found.map(one => ({
        text: one.text,
        shows: () => store.set({ suggestedBoundary: one }),
        run: () => actions.post("set_boundary", { inputs: one.inputs.map(t => t.tensor), outputs: one.outputs.map(t => t.tensor) }),
      })),
      at ?? corner(panes.source),
      () => store.set({ suggestedBoundary: null }),
    );
  }

  /** The effect of a drag that begins here: on a port or an edge it drags a tensor. */
  drag(pane: Pane, e: PointerEvent): Drag | null {
    if (!this.actions.ui.api.answers("connect")) return null;
    const found = pane.drawing.outputAt(e.target) ?? pane.itemAt(e);
    if (!found) return null;
    return "g" in found ? this.boxDrag.begin(pane, found) : this.tensorDrag.begin(pane, found, e);
  }
}
