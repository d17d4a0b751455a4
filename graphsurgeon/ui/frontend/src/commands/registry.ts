// The registry of the commands: for each action of the table of keys, its effect, its label and its condition. The keys, the menus, the
// bars, the palette and the list of shortcuts use it.
import { Actions } from "./actions";
import { BoxDrag } from "../canvas/drag_boxes";
import { type ChoiceOf, Edits } from "./edits";
import { focus } from "../panels/dom";
import { openRecipes, openRunForm, openSaveForm } from "./forms";
import { along, below, corner, openViews, showViewNumber } from "./navigation";
import { type Action, keyOf, KEYS, verbOf } from "./keys";
import { Lens } from "../canvas/lens";
import type { Changes } from "../state/changes";
import type { LinkedPanes } from "../state/linked_panes";
import { openPalette } from "./palette";
import type { Pane } from "../canvas/pane";
import type { Drag } from "../canvas/pointer";
import { around, edgesOf, isFold, neighbor, opens, type Step } from "../state/places";
import { Appearance } from "./appearance";
import type { Item } from "../canvas/scene";
import type { Model } from "../model/api";
import type { Box, Edge, Group, Mode, PaneName, Rect } from "../model/types.generated";
import { TensorDrag } from "../canvas/drag_tensor";
import type { Choice } from "../panels/popup";
import type { Position } from "../panels/parts";
import { middleOf } from "../canvas/edge_hit";

const BY_KEY = new Map(KEYS.flatMap(([action, keys]) => keys.map(key => [key, action] as const)));

/** Actions that are about a plan, and send nothing that must be answered. */
const OF_PLANS: Action[] = ["plan_view", "change", "change_before"],
  /** Actions on boxes, which do nothing while an edge is selected. */
  ON_BOXES: Action[] = ["type", "attribute", "rename", "lens", "copy_to_clipboard", "cut", "duplicate"];

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

/** The effect of an action: in the active pane, with its current item. A menu opens at the point `at`, if there is one. */
type Effect = (pane: Pane, item: Item | null, key: string, at?: Position) => unknown;

/** The text of an action in menus and tooltips. */
type Label = string | ((of?: Box | Group) => string);

/** Whether an action can be done now, with a box of a pane. If it cannot, menus leave it out, and its button is gray. If there is a
 * reason, its items in menus are gray, and its key shows the reason. */
type When = (pane: Pane, of?: Box | Group) => boolean | { reason: string };

type Command = readonly [run: Effect, label?: Label, when?: When];

export class Registry {
  readonly actions: Actions;
  readonly edits: Edits;
  readonly appearance: Appearance;
  readonly tensorDrag: TensorDrag;
  readonly lens: Lens;
  readonly boxDrag: BoxDrag;
  linked!: LinkedPanes;
  changes!: Changes;
  readonly #table: Record<Action, Effect | Command>;

  constructor(model: Model) {
    this.actions = new Actions(model);
    this.boxDrag = new BoxDrag(this.actions);
    this.edits = new Edits(this.actions, this.boxDrag, this.choice);
    this.appearance = new Appearance(this.actions, this.choice);
    this.tensorDrag = new TensorDrag(this.actions, this.edits);
    this.lens = new Lens(this.actions);
    this.#table = this.#commands();
  }

  /** Whether an action is offered: a saved page answers few verbs, a stopped kernel none. */
  offers = (action: Action): boolean => {
    const { api, model } = this.actions,
      verb = verbOf(action);
    return (!verb || api.answers(verb)) && !(model.get("still") && OF_PLANS.includes(action));
  };

  #command(action: Action): Command {
    const command = this.#table[action];
    return typeof command === "function" ? [command] : command;
  }

  /** Does an action, by default with the current item. */
  do = (action: Action, key = "", at?: Position, given?: Item): void => {
    const { actions } = this,
      pane = actions.pane,
      { pendingEdit, picking, edge } = actions.state,
      item = given ?? (edge ? null : pane.current);
    const second = ["open", "reroute", "connect"].includes(action) && !(action === "open" && item && opens(item.of));
    if (pendingEdit && picking && pane.current && second) return actions.completeEdit(pane);
    const [run, , when] = this.#command(action),
      can = when?.(pane, item?.of);
    if (edge && !given && ON_BOXES.includes(action)) actions.notify("An edge is selected. Select a box first.", "warn");
    else if (typeof can === "object") actions.notify(can.reason, "warn");
    else run(pane, item, key, at);
  };

  /** Whether the button of an action is enabled. */
  enabled(action: Action): boolean {
    const { pane } = this.actions,
      [, , when] = this.#command(action);
    return !when || when(pane, pane.current?.of) === true;
  }

  label(action: Action, of?: Box | Group): string {
    const [, label = ""] = this.#command(action);
    return typeof label === "string" ? label : label(of);
  }

  /** An action as an item of a menu or a bar for a box of a pane; none if the action cannot be done with it. */
  choice: ChoiceOf = (action, pane, of, more = {}) => {
    const [, , when] = this.#command(action),
      can = when ? when(pane, of) : true,
      off = can !== true;
    return (
      can && {
        text: this.label(action, of),
        key: keyOf(action),
        verb: verbOf(action),
        off,
        run: () => this.do(action, "", undefined, of && pane.drawing.find(of.name)),
        ...more,
      }
    );
  };

  #commands(): Record<Action, Effect | Command> {
    const { actions } = this,
      { model } = actions,
      refused = (reason: string) => (reason ? { reason } : true),
      editable: When = pane => refused(actions.refusal(pane)),
      markable: When = (pane, of) => !(of && isFold(of)) && refused(actions.markRefusal(pane)),
      inSource: When = pane => pane.name === "source",
      two: When = pane => actions.selected[pane.name].size === 2,
      ready = () => model.get("plan").ready,
      can = (way: "back" | "forward" | "undo" | "redo") => () => !!model.get("views")?.[way];
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
        const tensor = actions.tensor(pane, true);
        if (tensor) actions.post(verb, { tensor });
      };
    const remove =
      (stitch: boolean): Effect =>
      (pane, item) =>
        item ? this.edits.remove(pane, item.of, stitch) : menu(pane, item);
    const menu = (pane: Pane, item: Item | null) => {
      const of = actions.state.edge ?? item;
      if (of) this.menu(pane, of, below(pane)!);
    };
    const onBoxes =
      (act: (names: string[], pane: PaneName) => void): Effect =>
      (pane, item) => {
        const names = actions.boxesOf(pane, item?.of);
        if (names.length) act(names, pane.name);
      };
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
      select: [select("set"), "Select"],
      toggle: select("toggle"),
      edge: pane => this.#edge(pane, 1),
      edge_before: pane => this.#edge(pane, -1),
      open: [
        (pane, item) => {
          if (!item) this.#otherEnd(pane);
          else if (opens(item.of)) actions.open(pane, item.of);
          else actions.select(pane, [item.of.name], "set");
        },
        of => (of && "kind" in of ? "Unfold" : "Fold"),
        (_pane, of) => !!of && opens(of),
      ],
      input: [mark("mark_input"), "Mark as boundary input", markable],
      output: [mark("mark_output"), "Mark as boundary output", markable],
      boundary: () => actions.plan.focusSummary(),
      mark_boundary: [() => actions.post("mark_boundary", {}), "Mark the boundary of the selection", inSource],
      copy_to_clipboard: [onBoxes((names, pane) => actions.post("copy_to_clipboard", { names, pane })), "Copy"],
      cut: [onBoxes(names => actions.post("cut", { names })), "Cut", editable],
      paste: [() => void actions.paste("paste", { to: null, keep_inputs: false }), "Paste"],
      duplicate: [
        onBoxes(names => void actions.paste("duplicate", { names, pane: "destination", to: null, keep_inputs: true })),
        "Duplicate",
        editable,
      ],
      lens: [pane => this.lens.toggle(pane), "Focus on its neighborhood"],
      isolate: pane => this.lens.isolate(pane),
      between: [pane => this.lens.between(pane), "Select all between the two", pane => inSource(pane) && two(pane)],
      show_path: [pane => void this.lens.showPath(pane), "Why does one need the other?", two],
      near: [() => void this.near(), "Boundaries nearby\u2026", inSource],
      all: pane =>
        actions.select(
          pane,
          (pane.scene?.boxes ?? []).map(box => box.name),
          "set",
        ),
      copy: [
        () => actions.plan.copy(true),
        () => (model.get("boundary").ops ? "Copy the region to scope\u2026" : "Copy to scope\u2026"),
        inSource,
      ],
      connect: [
        pane => void this.tensorDrag.connect(pane),
        () => (actions.state.pendingEdit ? "Connect to this op" : "Connect from here"),
        (_pane, of) => !!of && !isFold(of),
      ],
      reroute: pane => actions.startEdit(pane, "reroute"),
      remove: [remove(false), "Remove", editable],
      stitch: [remove(true), "Remove and reconnect", editable],
      type: [(pane, item) => item && this.edits.type(pane, item.of), "Replace all similar ops\u2026", editable],
      attribute: [(pane, item) => item && this.edits.attribute(pane, item.of), "Set an attribute\u2026", editable],
      rename: [
        (_pane, item) => item && this.edits.rename(item.of.name),
        "Rename\u2026",
        (pane, of) => !of?.name.startsWith("~") && editable(pane, of),
      ],
      edit: [(pane, item) => (item ? this.edits.menu(pane, item.of, below(pane)!) : menu(pane, item)), "Edit\u2026", editable],
      undo: [() => actions.post("undo", {}), "Undo", can("undo")],
      redo: [() => actions.post("redo", {}), "Redo", can("redo")],
      apply: [() => actions.apply(), "Apply the plan", ready],
      save: [() => void openSaveForm(actions), "Save or export a model, a picture or a page"],
      recipes: [(_pane, _item, _key, at) => void openRecipes(actions, at), "Recipes"],
      search: () => actions.search.focus(),
      palette: () => openPalette(this),
      hit: () => actions.search.step(1),
      hit_before: () => actions.search.step(-1),
      seen: [(pane, _item, _key, at) => this.appearance.menu(pane.name, at), "View options"],
      train: [() => this.appearance.train(), "Show gradients and updates"],
      run: [() => void openRunForm(actions), "Run the graph with inputs"],
      try: [() => void openRunForm(actions, "plan"), "Apply the plan to a copy, run the copy, and compare", ready],
      full: [() => actions.size.fill(), "Full screen"],
      plan_view: () => this.linked.choose(),
      change: () => this.changes.step(1, true),
      change_before: () => this.changes.step(-1, true),
      fit: [pane => pane.fit(), "Fit to window"],
      in: [zoom(1.25), "Zoom in"],
      out: [zoom(1 / 1.25), "Zoom out"],
      actual: [pane => pane.zoom(1 / pane.view.k), "Zoom to 100 %"],
      menu,
      producer: pane => void along(actions, pane, "producer"),
      consumer: pane => void along(actions, pane, "consumer"),
      back: [() => actions.post("back", {}), "Back", can("back")],
      forward: [() => actions.post("forward", {}), "Forward", can("forward")],
      views: [(_pane, _item, _key, at) => openViews(actions, at), "Views"],
      view: (_pane, _item, key) => showViewNumber(actions, +key),
      map: [
        () => {
          for (const { map } of Object.values(actions.panes)) map.setVisible(!map.isWanted);
        },
        "Map of the graph",
      ],
      escape: pane => actions.escape(pane),
      help: [() => actions.popup.help(action => actions.api.kernelStopped || this.offers(action)), "Keyboard shortcuts and symbols"],
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
    if (!edge) return actions.notify("This box has no edges.", "warn");
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
    return !picking && !pendingEdit && !this.actions.refusal(pane) && this.actions.api.answers("insert");
  }

  /** The selected boxes or the selected edge of a pane, and the actions of the bar there. */
  atSelection(pane: Pane): [Rect | null, Choice[]] {
    const { actions, edits } = this,
      { api, model } = actions,
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
          { text: "Insert op\u2026", verb: "insert", off: off || !one, run: () => edits.insertOn(pane, edge) },
          { text: "More\u2026", run: () => void edits.edgeMenu(pane, edge, place()) },
        ],
      ];
    }
    const one = boxes.length === 1;
    const entry = (action: Action, text?: string) => this.choice(action, pane, of, text ? { text } : {});
    return [
      around(boxes),
      [
        one && entry("open"),
        entry("copy", model.get("boundary").ops ? "Copy region\u2026" : "Copy\u2026"),
        entry("mark_boundary", "Mark boundary"),
        one &&
          !isFold(of!) && { text: "Insert op\u2026", verb: "insert" as const, off, run: () => edits.insert(actions.tensorOf(of!.name)) },
        entry("type", "Replace similar\u2026"),
        entry("stitch", "Remove"),
        one && entry("rename"),
        { text: "More\u2026", run: () => this.boxMenu(pane, of!, place()) },
      ].filter(c => !!c),
    ];
  }

  /** The context menu of a box or an edge. */
  menu(pane: Pane, of: Item | Edge, at: Position): void {
    if ("g" in of) this.boxMenu(pane, of.of, at);
    else void this.edits.edgeMenu(pane, of, at);
  }

  boxMenu(pane: Pane, of: Box | Group, at: Position): void {
    const { actions, appearance, edits } = this,
      { pendingEdit, lens } = actions.state,
      entry = (action: Action, more: Partial<Choice> = {}) => this.choice(action, pane, of, more);
    /** Selects the box, unless there is a selection, before an action on the selection. */
    const selected = (act: () => unknown) => ({
      run: () => {
        if (!actions.selected.source.size) actions.select(pane, [of.name], "set");
        act();
      },
    });
    const second = pendingEdit && pendingEdit.verb !== "connect" && { verb: pendingEdit.verb, key: keyOf("open") };
    actions.popup.choose(
      of.label || of.name,
      [
        entry("open"),
        entry("select"),
        entry("input"),
        entry("output"),
        entry(
          "mark_boundary",
          selected(() => this.do("mark_boundary")),
        ),
        entry(
          "near",
          selected(() => void this.near(at)),
        ),
        entry("copy"),
        entry("connect", second ? { ...second, text: "Choose this op", run: () => this.do("open") } : {}),
        pane.name === "source" && { text: "Find all similar", verb: "find_similar" as const, run: () => void edits.like(pane, of) },
        entry("stitch"),
        entry("type"),
        entry("copy_to_clipboard"),
        entry("paste"),
        entry("duplicate"),
        entry("lens", { on: lens?.kind === "near" }),
        entry("between"),
        entry("show_path"),
        ...appearance.of(of),
        entry("edit", { run: () => edits.menu(pane, of, at) }),
      ],
      at,
    );
  }

  /** Boundaries near the selection: each is shown while the pointer is on it. */
  async near(at?: Position): Promise<void> {
    const { actions } = this,
      { popup, store, panes } = actions,
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
    if (!this.actions.api.answers("connect")) return null;
    const found = pane.drawing.outputAt(e.target) ?? pane.itemAt(e);
    if (!found) return null;
    return "g" in found ? this.boxDrag.begin(pane, found) : this.tensorDrag.begin(pane, found, e);
  }
}
