// The registry of the commands: for each action of the table of keys, its effect, its label and its condition. The keys, the menus, the
// bars, the palette and the list of shortcuts use it.
import { Actions } from "./actions";
import { dragBoxes } from "../canvas/drag_boxes";
import { askAttribute, askInsert, askName, edgeMenu, editMenu, findSimilar, replaceSimilar } from "./edits";
import { openRecipes, openRunForm, openSaveForm } from "./forms";
import { along, below, corner, openViews, showViewNumber } from "./navigation";
import { type Action, keyOf, KEYS, verbOf } from "./keys";
import { isolate, selectBetween, showPath, toggleLens } from "../canvas/lens";
import { stepChange } from "../state/changes";
import type { LinkedPanes } from "../state/linked_panes";
import { openPalette } from "./palette";
import type { Pane, PaneEvents } from "../canvas/pane";
import type { Drag } from "../canvas/pointer";
import { around, edgesOf, isFold, neighbor, opens, type Step } from "../state/places";
import { hideType, showTraining, viewMenu } from "./appearance";
import type { Item } from "../canvas/scene";
import type { Box, Edge, Group, Mode, PaneName, Rect } from "../model/types.generated";
import { connect, dragTensor } from "../canvas/drag_tensor";
import type { Choice } from "../panels/popup";
import { belowButton, button, type ButtonOptions, type Position } from "../panels/parts";
import type { VNode } from "../panels/vnodes";
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

/** The effect of an action: in the active pane, with its current item. A menu opens at the point `at`, if there is one. */
type Effect = (pane: Pane, item: Item | null, key: string, at?: Position) => unknown;

/** The text of an action in menus and tooltips. */
type Label = string | ((of?: Box | Group) => string);

/** Whether an action can be done now, with a box of a pane. If it cannot, menus leave it out, and its button is gray. If there is a
 * reason, its items in menus are gray, and its key shows the reason. */
type When = (pane: Pane, of?: Box | Group) => boolean | { reason: string };

type Command = readonly [run: Effect, label?: Label, when?: When];

export class Registry extends Actions implements PaneEvents {
  linked!: LinkedPanes;
  /** A pane has moved. */
  move!: (pane: Pane) => void;
  readonly #table: Record<Action, Effect | Command> = this.#commands();

  offers(action: Action): boolean {
    const verb = verbOf(action);
    return (!verb || this.api.answers(verb)) && !(this.model.get("still") && OF_PLANS.includes(action));
  }

  #command(action: Action): Command {
    const command = this.#table[action];
    return typeof command === "function" ? [command] : command;
  }

  do(action: Action, key = "", at?: Position, given?: Item): void {
    const { pane } = this,
      { picking, edge } = this.state,
      item = given ?? (edge ? null : pane.current);
    const second = ["open", "reroute", "connect"].includes(action) && !(action === "open" && item && opens(item.of));
    if (picking?.from && pane.current && second) return this.completeEdit(pane);
    const [run] = this.#command(action),
      can = this.#can(action, pane, item?.of);
    if (typeof can === "object") this.notify(can.reason, "warn");
    else run(pane, item, key, at);
  }

  /** Whether an action can be done now, with a box of a pane. */
  #can(action: Action, pane: Pane, of?: Box | Group): ReturnType<When> {
    const [, , when] = this.#command(action);
    return !when || when(pane, of);
  }

  #label(action: Action, of?: Box | Group): string {
    const [, label = ""] = this.#command(action);
    return typeof label === "string" ? label : label(of);
  }

  /** The button of an action; a menu opens below it. */
  button(action: Action, more: ButtonOptions = {}): VNode {
    return button({
      label: `${this.#label(action)} (${keyOf(action).replace(/^[.,]$/, " $& ")})`,
      verb: verbOf(action),
      disabled: this.#can(action, this.pane, this.pane.current?.of) !== true,
      onclick: (e: Event) => this.do(action, "", belowButton(e)),
      ...more,
    });
  }

  choice(action: Action, pane: Pane, of?: Box | Group, more: Partial<Choice> = {}): Choice | false {
    const can = this.#can(action, pane, of);
    return (
      can && {
        text: this.#label(action, of),
        key: keyOf(action),
        verb: verbOf(action),
        off: can !== true,
        run: () => this.do(action, "", undefined, of && pane.drawing.find(of.name)),
        ...more,
      }
    );
  }

  #commands(): Record<Action, Effect | Command> {
    const { model } = this,
      refused = (reason: string) => (reason ? { reason } : true),
      editable: When = pane => refused(this.refusal(pane)),
      boxes: When = (_pane, of) => refused(this.state.edge && !of ? "An edge is selected. Select a box first." : ""),
      editableBoxes: When = (pane, of) => (boxes(pane, of) === true ? editable(pane) : boxes(pane, of)),
      markable: When = (pane, of) => !(of && isFold(of)) && refused(this.markRefusal(pane)),
      inSource: When = pane => pane.name === "source",
      two: When = pane => this.selected[pane.name].size === 2,
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
        const { edge, picking } = this.state;
        if (item) this.select(pane, [item.of.name], mode);
        else if (edge && picking) this.showEdge(pane, edge);
      };
    const mark =
      (verb: "mark_input" | "mark_output"): Effect =>
      pane => {
        const tensor = this.tensor(pane, true);
        if (tensor) this.post(verb, { tensor });
      };
    const remove =
      (stitch: boolean): Effect =>
      (pane, item) =>
        item ? this.post("remove", { names: this.boxesOf(pane, item.of), stitch }) : menu(pane, item);
    const menu = (pane: Pane, item: Item | null) => {
      const of = this.state.edge ?? item;
      if (of) this.menu(pane, of, below(pane)!);
    };
    const onBoxes =
      (act: (names: string[], pane: PaneName) => void): Effect =>
      (pane, item) => {
        const names = this.boxesOf(pane, item?.of);
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
          else if (opens(item.of)) this.open(pane, item.of);
          else this.select(pane, [item.of.name], "set");
        },
        of => (of && "kind" in of ? "Unfold" : "Fold"),
        (_pane, of) => !!of && opens(of),
      ],
      input: [mark("mark_input"), "Mark as boundary input", markable],
      output: [mark("mark_output"), "Mark as boundary output", markable],
      boundary: () => this.plan.focusSummary(),
      mark_boundary: [() => this.post("mark_boundary", {}), "Mark the boundary of the selection", inSource],
      copy_to_clipboard: [onBoxes((names, pane) => this.post("copy_to_clipboard", { names, pane })), "Copy", boxes],
      cut: [onBoxes(names => this.post("cut", { names })), "Cut", editableBoxes],
      paste: [() => void this.paste("paste", { to: null, keep_inputs: false }), "Paste"],
      duplicate: [
        onBoxes(names => void this.paste("duplicate", { names, pane: "destination", to: null, keep_inputs: true })),
        "Duplicate",
        editableBoxes,
      ],
      lens: [pane => toggleLens(this, pane), "Focus on its neighborhood", boxes],
      isolate: pane => isolate(this, pane),
      between: [pane => selectBetween(this, pane), "Select all between the two", pane => inSource(pane) && two(pane)],
      show_path: [pane => void showPath(this, pane), "Why does one need the other?", two],
      near: [() => void this.near(), "Boundaries nearby\u2026", inSource],
      all: pane =>
        this.select(
          pane,
          (pane.scene?.boxes ?? []).map(box => box.name),
          "set",
        ),
      copy: [
        () => this.plan.copy(true),
        () => (model.get("boundary").ops ? "Copy the region to scope\u2026" : "Copy to scope\u2026"),
        inSource,
      ],
      connect: [
        pane => void connect(this, pane),
        () => (this.state.connecting ? "Connect to this op" : "Connect from here"),
        (_pane, of) => !!of && !isFold(of),
      ],
      reroute: pane => this.startEdit(pane, "reroute"),
      remove: [remove(false), "Remove", editable],
      stitch: [remove(true), "Remove and reconnect", editable],
      type: [(pane, item) => item && replaceSimilar(this, pane, item.of), "Replace all similar ops\u2026", editableBoxes],
      attribute: [(pane, item) => item && askAttribute(this, pane, item.of), "Set an attribute\u2026", editableBoxes],
      rename: [
        (_pane, item) => item && askName(this, item.of.name),
        "Rename\u2026",
        (pane, of) => !of?.name.startsWith("~") && editableBoxes(pane, of),
      ],
      edit: [(pane, item) => (item ? editMenu(this, pane, item.of, below(pane)!) : menu(pane, item)), "Edit\u2026", editable],
      undo: [() => this.post("undo", {}), "Undo", can("undo")],
      redo: [() => this.post("redo", {}), "Redo", can("redo")],
      apply: [() => this.apply(), "Apply the plan", ready],
      save: [() => void openSaveForm(this), "Save or export a model, a picture or a page"],
      recipes: [(_pane, _item, _key, at) => void openRecipes(this, at), "Recipes"],
      search: () => this.search.focus(),
      palette: () => openPalette(this),
      hit: () => this.search.step(1),
      hit_before: () => this.search.step(-1),
      seen: [(pane, _item, _key, at) => viewMenu(this, pane.name, at), "View options"],
      train: [() => showTraining(this), "Show gradients and updates"],
      run: [() => void openRunForm(this), "Run the graph with inputs"],
      try: [() => void openRunForm(this, "plan"), "Apply the plan to a copy, run the copy, and compare", ready],
      full: [() => this.size.fill(), "Full screen"],
      plan_view: () => this.linked.choose(),
      change: () => stepChange(this, this.linked, 1, true),
      change_before: () => stepChange(this, this.linked, -1, true),
      fit: [pane => pane.fit(), "Fit to window"],
      in: [zoom(1.25), "Zoom in"],
      out: [zoom(1 / 1.25), "Zoom out"],
      actual: [pane => pane.zoom(1 / pane.view.k), "Zoom to 100 %"],
      menu,
      producer: pane => void along(this, pane, "producer"),
      consumer: pane => void along(this, pane, "consumer"),
      back: [() => this.post("back", {}), "Back", can("back")],
      forward: [() => this.post("forward", {}), "Forward", can("forward")],
      views: [(_pane, _item, _key, at) => openViews(this, at), "Views"],
      view: (_pane, _item, key) => showViewNumber(this, +key),
      map: [
        () => {
          for (const { map } of Object.values(this.panes)) map.setVisible(!map.isWanted);
        },
        "Map of the graph",
      ],
      escape: pane => this.escape(pane),
      help: [() => this.popup.help(action => this.api.kernelStopped || this.offers(action)), "Keyboard shortcuts and symbols"],
    };
  }

  /** Goes from the current box, or from an edge of it, to its next edge. */
  #edge(pane: Pane, by: 1 | -1): void {
    const of = pane.current?.of,
      edges = of && pane.scene ? edgesOf(pane.scene, of) : [],
      at = edges.indexOf(this.state.edge!),
      next = at < 0 && by < 0 ? edges.length - 1 : (at + by + edges.length) % edges.length,
      edge = edges[next];
    if (!edge) return this.notify("This box has no edges.", "warn");
    this.showEdge(pane, edge, `${next + 1} of ${edges.length}`);
  }

  /** Goes from an edge of the current box to the other end of the edge. */
  #otherEnd(pane: Pane): void {
    const { edge } = this.state,
      id = edge?.[edge.from === pane.current?.of.id ? "to" : "from"],
      box = pane.scene?.boxes.find(one => one.id === id);
    if (box) pane.focus(pane.drawing.find(box.name)!);
  }

  /** Whether ops can be inserted on the edges of a pane now. */
  inserts(pane: Pane): boolean {
    const { picking, connecting } = this.state;
    return !picking && !connecting && !this.refusal(pane) && this.api.answers("insert");
  }

  /** The selected boxes or the selected edge of a pane, and the actions of the bar there. */
  atSelection(pane: Pane): [Rect | null, Choice[]] {
    const { api, model } = this,
      { edge, picking, connecting } = this.state,
      boxes = [...this.selected[pane.name]].flatMap(name => pane.drawing.find(name)?.of ?? []),
      of = boxes.at(-1);
    if (!pane.scene || pane !== this.pane || picking || connecting || !api.answers("rename") || (!edge && !of)) return [null, []];
    if (edge && !pane.scene.edges.includes(edge)) return [null, []]; // it is in the other pane
    const off = !!this.refusal(pane),
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
          { text: "Insert op\u2026", verb: "insert", off: off || !one, run: () => this.insertOn(pane, edge) },
          { text: "More\u2026", run: () => void edgeMenu(this, pane, edge, place()) },
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
          !isFold(of!) && { text: "Insert op\u2026", verb: "insert" as const, off, run: () => askInsert(this, this.tensorOf(of!.name)) },
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
    else void edgeMenu(this, pane, of, at);
  }

  boxMenu(pane: Pane, of: Box | Group, at: Position): void {
    const { picking, lens } = this.state,
      entry = (action: Action, more: Partial<Choice> = {}) => this.choice(action, pane, of, more);
    /** Selects the box, unless there is a selection, before an action on the selection. */
    const selected = (act: () => unknown) => ({
      run: () => {
        if (!this.selected.source.size) this.select(pane, [of.name], "set");
        act();
      },
    });
    const second = picking?.from && { verb: picking.from.verb, key: keyOf("open") };
    this.popup.choose(
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
        pane.name === "source" && { text: "Find all similar", verb: "find_similar" as const, run: () => void findSimilar(this, pane, of) },
        entry("stitch"),
        entry("type"),
        entry("copy_to_clipboard"),
        entry("paste"),
        entry("duplicate"),
        entry("lens", { on: !!lens?.near }),
        entry("between"),
        entry("show_path"),
        ...hideType(this, of),
        entry("edit", { run: () => editMenu(this, pane, of, at) }),
      ],
      at,
    );
  }

  /** Boundaries near the selection: each is shown while the pointer is on it. */
  async near(at?: Position): Promise<void> {
    const { popup, store, panes } = this,
      found = await this.send("suggest_boundaries", {});
    if (!found) return;
    popup.choose(
      found.length ? "Boundaries near the selection" : "No boundary nearby: the selection depends on no input",
      found.map(one => ({
        text: one.text,
        shows: () => store.set({ suggestedBoundary: one }),
        run: () => this.post("set_boundary", { inputs: one.inputs.map(t => t.tensor), outputs: one.outputs.map(t => t.tensor) }),
      })),
      at ?? corner(panes.source),
      () => store.set({ suggestedBoundary: null }),
    );
  }

  insertOn(pane: Pane, edge: Edge): void {
    askInsert(this, edge.tensor, [this.ends(pane, edge)[1].name]);
  }

  toggleAlone(pane: Pane): void {
    this.linked.toggleAlone(pane);
  }

  /** The effect of a drag that begins here: on a port or an edge it drags a tensor. */
  drag(pane: Pane, e: PointerEvent): Drag | null {
    if (!this.api.answers("connect")) return null;
    const port = pane.drawing.portAt(e.target),
      found = port && !port.candidate ? port : pane.itemAt(e);
    if (!found) return null;
    return "g" in found ? dragBoxes(this, pane, found) : dragTensor(this, pane, found, e);
  }
}
