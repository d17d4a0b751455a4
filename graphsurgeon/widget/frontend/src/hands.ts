// Hands: which action a key or an item of a box's menu stands for, and what each action does.
import { Actions, type Parts } from "./actions";
import { Edits } from "./edits";
import { below, Going } from "./going";
import { KEYS, type Action } from "./keys";
import type { Pane } from "./pane";
import { isFold, neighbour, opens, type Step } from "./places";
import { Looks } from "./looks";
import { Runs } from "./runs";
import type { Item } from "./scene";
import type { Box, Group } from "./types";
import type { Mode } from "./verbs";

const BY_KEY = new Map(KEYS.flatMap(([action, keys]) => keys.map(key => [key, action] as const)));

type Pressed = Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "shiftKey" | "altKey">;

/** The action of a key press, or null. Cmd counts as Ctrl. */
export function actionOf(e: Pressed): Action | null {
  if (e.altKey) return null;
  const command = e.ctrlKey || e.metaKey;
  let key = e.key;
  if (command && key.length === 1 && e.shiftKey) key = key.toUpperCase();
  else if (!e.shiftKey && key.length === 1) key = key.toLowerCase();
  // signs that need Shift on some keyboards ("+", "?", "/") are taken as they are
  const shift = e.shiftKey && (key.length > 1 || /[A-Z]/.test(key));
  return BY_KEY.get(`${command ? "Ctrl+" : ""}${shift ? "Shift+" : ""}${key}`) ?? null;
}

/** Does something in the pane that keys mean, with the item that they mean. */
type Deed = (pane: Pane, item: Item | null, key: string) => unknown;

export class Hands {
  readonly acts: Actions;
  readonly #edits: Edits;
  readonly going: Going;
  readonly looks: Looks;
  readonly runs: Runs;
  readonly #does: Record<Action, Deed>;

  constructor(parts: Parts) {
    this.acts = new Actions(parts);
    this.#edits = new Edits(this.acts);
    this.going = new Going(this.acts);
    this.looks = new Looks(this.acts);
    this.runs = new Runs(this.acts);
    this.#does = this.#table();
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

  /** What each action does. */
  #table(): Record<Action, Deed> {
    const { acts } = this,
      { p } = acts;
    const go =
      (step: Step): Deed =>
      (pane, item) => {
        const next = pane.scene && item && neighbour(pane.scene, item.of, step);
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
        const tensor = acts.tensor(pane, true);
        if (tensor) acts.ask(verb, { tensor });
      };
    const remove =
      (stitch: boolean): Deed =>
      (pane, item) =>
        item && this.#edits.remove(pane, item.of, stitch);
    const along =
      (way: "producer" | "consumer"): Deed =>
      pane =>
        void this.going.along(pane, way);
    const step =
      (way: "back" | "forward"): Deed =>
      () =>
        this.going.step(p.panes.source, way);
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
      around: () => acts.ask("boundary_of_selection", {}),
      copy: () => p.plan.copy(),
      connect: pane => void acts.connect(pane),
      reroute: pane => acts.arm(pane, "reroute"),
      remove: remove(false),
      stitch: remove(true),
      edit: (pane, item) => item && this.#edits.menu(pane, item.of, below(pane)!),
      undo: () => acts.ask("undo", {}),
      redo: () => acts.ask("redo", {}),
      apply: () => acts.apply(),
      search: () => p.search.focus(),
      seen: pane => this.looks.menu(pane.name),
      train: () => this.looks.train(),
      run: () => void this.runs.ask(),
      try: () => void this.runs.ask("plan"),
      fit: pane => pane.fit(),
      in: zoom(1.25),
      out: zoom(1 / 1.25),
      actual: pane => pane.zoom(1 / pane.view.k),
      menu: (pane, item) => item && this.menu(pane, item.of, below(pane)!),
      producer: along("producer"),
      consumer: along("consumer"),
      back: step("back"),
      forward: step("forward"),
      views: () => this.going.menu(p.panes.source),
      view: (_pane, _item, key) => this.going.numbered(p.panes.source, +key),
      map: ({ map }) => {
        map.wanted = !map.wanted;
        map.look();
      },
      escape: pane => acts.escape(pane),
      help: () => p.popup.help(),
    };
  }

  menu(pane: Pane, of: Box | Group, at: { x: number; y: number }): void {
    const fold = isFold(of),
      { acts } = this,
      { model, store, popup } = acts.p,
      { armed } = store.now,
      act = (action: Action) => () => void this.do(action);
    const choices = [
      opens(of) && { text: "kind" in of ? "Unfold" : "Fold", key: "Enter", run: () => acts.open(pane, of) },
      { text: "Select", key: "Space", run: act("select") },
      !fold && { text: "Mark as boundary input", key: "i", run: act("input") },
      !fold && { text: "Mark as boundary output", key: "o", run: act("output") },
      pane.name === "source" && {
        text: "Boundary of what is selected",
        key: "Shift+B",
        run: () => {
          if (!acts.selected.source.size) acts.select(pane, [of.name], "set");
          this.do("around");
        },
      },
      { text: "Copy the region", key: "c", run: act("copy"), off: !model.get("boundary").ops },
      !fold &&
        (armed && armed.verb !== "connect"
          ? { text: "Take this op", key: "Enter", run: act("open") }
          : { text: armed ? "Connect to this op" : "Connect from here", key: "m", run: act("connect") }),
      pane.name === "source" && { text: "Find all like this", run: () => void this.#edits.like(pane, of) },
      ...this.looks.of(of),
      { text: "Edit \u2026", key: "e", run: () => this.#edits.menu(pane, of, at), off: !!acts.refusal(pane) },
    ];
    popup.choose(
      of.label || of.name,
      choices.filter(c => !!c),
      at,
    );
  }
}
