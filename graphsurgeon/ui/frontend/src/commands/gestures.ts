// The actions of the keys.
import { Actions, type Parts } from "./actions";
import { Carry } from "../canvas/drag_boxes";
import { BoxMenu } from "./box_menu";
import { EdgeMenu } from "./edge_menu";
import { Edits } from "./edits";
import { below, corner, Going } from "./navigation";
import { KEYS, type Action } from "../model/keys.generated";
import { Lens } from "../canvas/lens";
import type { Pane } from "../canvas/pane";
import type { Drag, Tool } from "../canvas/pointer";
import { neighbor, opens, type Step } from "../state/places";
import { Leave } from "./save";
import { Looks } from "./appearance";
import { Recipes } from "./recipes";
import { Runs } from "./runs";
import type { Item } from "../canvas/scene";
import { stroke } from "../canvas/stroke";
import type { Mode, Verbs } from "../model/verbs.generated";
import { Wires } from "../canvas/drag_tensor";

const BY_KEY = new Map(KEYS.flatMap(([action, keys]) => keys.map(key => [key, action] as const)));

const TOOLS: Record<Tool, string> = {
  select: "Drag to select; Space+drag or the middle button pans.",
  lasso: "Drag a loop around the boxes to select; l to leave.",
  pan: "Drag to pan; h to leave.",
};

/** Action -> the verb that it sends. Other actions send no verb, or only navigate. */
const SENDS: Partial<Record<Action, keyof Verbs>> = {
  input: "mark_input",
  output: "mark_output",
  boundary: "mark_input",
  mark_boundary: "mark_boundary",
  between: "select_between",
  show_path: "show_path",
  near: "suggest_boundaries",
  copy: "copy",
  copy_to_clipboard: "copy_to_clipboard",
  cut: "cut",
  paste: "paste",
  paste_kept: "paste",
  duplicate: "duplicate",
  connect: "connect",
  reroute: "reroute",
  stitch: "remove",
  remove: "remove",
  type: "replace",
  attribute: "set_attr",
  edit: "rename",
  undo: "undo",
  redo: "redo",
  apply: "apply",
  save: "save",
  recipes: "recipes",
  seen: "set_depth",
  train: "set_training",
  run: "run",
  try: "run",
  producer: "reveal",
  consumer: "reveal",
  back: "back",
  forward: "forward",
  search: "find",
};
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
type Deed = (pane: Pane, item: Item | null, key: string) => unknown;

export class Hands {
  readonly acts: Actions;
  readonly edits: Edits;
  readonly boxes: BoxMenu;
  readonly edges: EdgeMenu;
  readonly going: Going;
  readonly looks: Looks;
  readonly recipes: Recipes;
  readonly runs: Runs;
  readonly wires: Wires;
  readonly lens: Lens;
  readonly carry: Carry;
  readonly #does: Record<Action, Deed>;

  constructor(parts: Parts) {
    this.acts = new Actions(parts);
    this.edits = new Edits(this.acts);
    this.edges = new EdgeMenu(this.acts, this.edits);
    this.going = new Going(this.acts);
    this.looks = new Looks(this.acts);
    this.recipes = new Recipes(this.acts);
    this.runs = new Runs(this.acts);
    this.wires = new Wires(this.acts, this.edits);
    this.lens = new Lens(this.acts);
    this.carry = new Carry(this.acts);
    this.boxes = new BoxMenu(this);
    this.#does = this.#table();
  }

  /** Whether an action is offered: a saved page answers few verbs, a stopped kernel none. */
  offers(action: Action): boolean {
    const { api, model } = this.acts.p,
      verb = SENDS[action];
    return (!verb || api.answers(verb)) && !(model.get("still") && OF_PLANS.includes(action));
  }

  /** Does the action of a key. */
  do(action: Action, key = ""): void {
    const { p } = this.acts,
      { acts } = this,
      pane = acts.pane,
      item = pane.current,
      { armed } = p.store.now;
    const second = ["open", "reroute", "connect"].includes(action) && !(action === "open" && item && opens(item.of));
    if (armed && armed.verb !== "connect" && item && second) acts.second(pane);
    else this.#does[action](pane, item, key);
  }

  /** The effects of the actions. */
  #table(): Record<Action, Deed> {
    const { acts } = this,
      { p } = acts;
    const go =
      (step: Step): Deed =>
      (pane, item) => {
        const next = pane.scene && item && neighbor(pane.scene, item.of, step);
        const found = next && pane.drawing.named(next.name);
        if (found) pane.focus(found);
      };
    const end =
      (at: number): Deed =>
      pane => {
        const found = pane.drawing.at([...pane.drawing.root.querySelectorAll(".gs-layer-boxes > .gs-item")].at(at) ?? null);
        if (found && "g" in found) pane.focus(found);
      };
    const select =
      (mode: Mode): Deed =>
      (pane, item) =>
        item && acts.select(pane, [item.of.name], mode);
    const mark =
      (verb: "mark_input" | "mark_output"): Deed =>
      pane => {
        const no = acts.unmarked(pane),
          tensor = no ? p.status.say(no, "warn") : acts.tensor(pane, true);
        if (tensor) acts.ask(verb, { tensor });
      };
    const remove =
      (stitch: boolean): Deed =>
      (pane, item) =>
        item && this.edits.remove(pane, item.of, stitch);
    const along =
      (way: "producer" | "consumer"): Deed =>
      pane =>
        void this.going.along(pane, way);
    const step =
      (way: "back" | "forward"): Deed =>
      () =>
        this.going.step(way);
    const zoom =
      (factor: number): Deed =>
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
      open: (pane, item) => item && (opens(item.of) ? acts.open(pane, item.of) : acts.select(pane, [item.of.name], "set")),
      input: mark("mark_input"),
      output: mark("mark_output"),
      boundary: () => p.plan.focusSummary(),
      mark_boundary: () => acts.ask("mark_boundary", {}),
      copy_to_clipboard: pane => this.carry.hold(pane),
      cut: pane => this.carry.cut(pane),
      paste: () => this.carry.paste(false),
      paste_kept: () => this.carry.paste(true),
      duplicate: pane => this.carry.duplicate(pane),
      lens: pane => this.lens.toggle(pane),
      isolate: pane => this.lens.isolate(pane),
      between: pane => this.lens.between(pane),
      show_path: pane => void this.lens.why(pane),
      near: () => void this.near(),
      all: pane =>
        acts.select(
          pane,
          (pane.scene?.boxes ?? []).map(box => box.name),
          "set",
        ),
      lasso: () => this.#tool("lasso"),
      hand: () => this.#tool("pan"),
      copy: () => p.plan.copy(true),
      connect: pane => void this.wires.connect(pane),
      reroute: pane => acts.arm(pane, "reroute"),
      remove: remove(false),
      stitch: remove(true),
      type: (pane, item) => item && this.edits.type(pane, item.of),
      attribute: (pane, item) => item && this.edits.attribute(pane, item.of),
      edit: (pane, item) => item && this.edits.menu(pane, item.of, below(pane)!),
      undo: () => acts.ask("undo", {}),
      redo: () => acts.ask("redo", {}),
      apply: () => acts.apply(),
      save: () => void new Leave(acts).ask(),
      recipes: () => void this.recipes.menu(),
      search: () => p.search.focus(),
      hit: () => p.search.step(1),
      hit_before: () => p.search.step(-1),
      seen: pane => this.looks.menu(pane.name),
      train: () => this.looks.train(),
      run: () => void this.runs.ask(),
      try: () => void this.runs.ask("plan"),
      full: () => p.room.fill(),
      plan_view: () => p.stages(),
      change: () => p.changes(1),
      change_before: () => p.changes(-1),
      fit: pane => pane.fit(),
      in: zoom(1.25),
      out: zoom(1 / 1.25),
      actual: pane => pane.zoom(1 / pane.view.k),
      menu: (pane, item) => {
        const { edge } = p.store.now;
        if (edge) this.edges.menu(pane, edge, below(pane)!);
        else if (item) this.boxes.menu(pane, item.of, below(pane)!);
      },
      producer: along("producer"),
      consumer: along("consumer"),
      back: step("back"),
      forward: step("forward"),
      views: () => this.going.menu(p.panes.source),
      view: (_pane, _item, key) => this.going.numbered(p.panes.source, +key),
      map: () => {
        for (const { map } of Object.values(p.panes)) map.want(!map.wanted);
      },
      escape: pane => acts.escape(pane),
      help: () => p.popup.help(action => p.api.gone || this.offers(action)),
    };
  }

  /** Boundaries near the selection: each is shown while the pointer is on it. */
  async near(at?: { x: number; y: number }): Promise<void> {
    const { acts } = this,
      { popup, store, panes } = acts.p,
      found = await acts.send("suggest_boundaries", {});
    if (!found) return;
    popup.choose(
      found.length ? "Boundaries near the selection" : "No boundary nearby: the selection depends on no input",
      found.map(one => ({
        text: one.text,
        shows: () => store.set({ tried: one }),
        run: () => acts.ask("set_boundary", { inputs: one.inputs.map(t => t.tensor), outputs: one.outputs.map(t => t.tensor) }),
      })),
      at ?? corner(panes.source),
      () => store.set({ tried: null }),
    );
  }

  /** Activates a tool; pressed again, the usual tool is back. */
  #tool(tool: Tool): void {
    const { store, status } = this.acts.p,
      next = store.now.tool === tool ? "select" : tool;
    store.set({ tool: next });
    status.say(TOOLS[next]);
  }

  /** The effect of a drag that begins here: on a port or an edge it drags a tensor. */
  dragged(pane: Pane, e: PointerEvent): Drag | null {
    if (!this.acts.p.api.answers("connect")) return null;
    if (e.altKey) return stroke(this.acts, pane, e);
    const found = pane.drawing.outputAt(e.target) ?? pane.found(e);
    if (!found) return null;
    return "g" in found ? this.carry.begin(pane, found) : this.wires.begin(pane, found, e);
  }
}
