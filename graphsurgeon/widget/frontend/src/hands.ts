// Hands: which action a key or an item of a box's menu stands for.
import { Actions, type Parts } from "./actions";
import { Edits } from "./edits";
import { below, Going } from "./going";
import type { Pane } from "./pane";
import { isFold, neighbour, type Step } from "./places";
import { Seen } from "./seen";
import type { Action } from "./table";
import type { Box, Group } from "./types";

export class Hands {
  readonly acts: Actions;
  private readonly edits: Edits;
  readonly going: Going;
  readonly seen: Seen;

  constructor(parts: Parts) {
    this.acts = new Actions(parts);
    this.edits = new Edits(this.acts);
    this.going = new Going(this.acts);
    this.seen = new Seen(this.acts);
  }

  /** Does the action of a key; false when it has nothing to do here. */
  do(action: Action, key = ""): boolean {
    const { p } = this.acts,
      { acts } = this,
      pane = acts.pane,
      item = pane.current,
      scene = pane.scene;
    const { armed } = p.store.now;
    if (
      armed &&
      armed.verb !== "connect" &&
      ["open", "reroute", "connect"].includes(action) &&
      item &&
      !(action === "open" && isFold(item.of))
    ) {
      acts.second(pane);
      return true;
    }
    switch (action) {
      case "up":
      case "down":
      case "left":
      case "right": {
        const next = scene && item && neighbour(scene, item.of, action as Step);
        const found = next && pane.drawing.named(next.name);
        if (found) pane.focus(found);
        break;
      }
      case "first":
      case "last": {
        const list = [...pane.drawing.root.querySelectorAll<SVGGElement>(".gs-layer-boxes > .gs-item")];
        const found = pane.drawing.at(list[action === "first" ? 0 : list.length - 1] ?? null);
        if (found && "g" in found) pane.focus(found);
        break;
      }
      case "pick":
        if (item) acts.pick(pane, [item.of.name], "set");
        break;
      case "toggle":
        if (item) acts.pick(pane, [item.of.name], "toggle");
        break;
      case "open":
        if (item) {
          if (isFold(item.of)) acts.open(pane, item.of);
          else acts.pick(pane, [item.of.name], "set");
        }
        break;
      case "input":
      case "output": {
        const tensor = acts.tensor(pane);
        if (tensor) acts.mark(tensor, action);
        break;
      }
      case "boundary":
        p.plan.focusSummary();
        break;
      case "around":
        acts.ask("boundary_of_picked", {});
        break;
      case "copy":
        p.plan.copy();
        break;
      case "connect":
        void acts.connect(pane);
        break;
      case "reroute":
        acts.arm(pane, "reroute");
        break;
      case "remove":
      case "stitch":
        if (item) this.edits.remove(pane, item.of, action === "stitch");
        break;
      case "edit":
        if (item) this.edits.menu(pane, item.of, below(pane)!);
        break;
      case "undo":
        acts.ask("undo", {});
        break;
      case "redo":
        acts.ask("redo", {});
        break;
      case "apply":
        acts.apply();
        break;
      case "search":
        p.search.focus();
        break;
      case "seen":
        this.seen.menu(pane.name);
        break;
      case "train":
        this.seen.train();
        break;
      case "fit":
        pane.fit();
        break;
      case "in":
        pane.zoom(1.25);
        break;
      case "out":
        pane.zoom(1 / 1.25);
        break;
      case "actual":
        pane.zoom(1 / pane.view.k);
        break;
      case "menu":
        if (item) this.menu(pane, item.of, below(pane)!);
        break;
      case "producer":
      case "consumer":
        void this.going.along(pane, action);
        break;
      case "back":
      case "forward":
        this.going.step(p.panes.source, action);
        break;
      case "views":
        this.going.menu(p.panes.source);
        break;
      case "view":
        this.going.numbered(p.panes.source, +key);
        break;
      case "map":
        pane.map.wanted = !pane.map.wanted;
        pane.map.look();
        break;
      case "escape":
        acts.escape(pane);
        break;
      case "help":
        p.popup.help();
        break;
    }
    return true;
  }

  menu(pane: Pane, of: Box | Group, at: { x: number; y: number }): void {
    const fold = isFold(of),
      { acts } = this,
      { model, store, popup } = acts.p,
      { armed } = store.now,
      act = (action: Action) => () => void this.do(action);
    const choices = [
      fold && { text: "kind" in of ? "Unfold" : "Fold", key: "Enter", run: () => acts.open(pane, of) },
      { text: "Pick", key: "Space", run: act("pick") },
      !fold && { text: "Mark as boundary input", key: "i", run: act("input") },
      !fold && { text: "Mark as boundary output", key: "o", run: act("output") },
      pane.name === "source" && {
        text: "Boundary of what is picked",
        key: "Shift+B",
        run: () => {
          if (!acts.picked.source.size) acts.pick(pane, [of.name], "set");
          this.do("around");
        },
      },
      { text: "Copy the region", key: "c", run: act("copy"), off: !model.get("boundary").ops },
      !fold &&
        (armed && armed.verb !== "connect"
          ? { text: "Take this op", key: "Enter", run: act("open") }
          : { text: armed ? "Connect to this op" : "Connect from here", key: "m", run: act("connect") }),
      pane.name === "source" && { text: "Find all like this", run: () => void this.edits.like(pane, of) },
      ...this.seen.of(of),
      { text: "Edit \u2026", key: "e", run: () => this.edits.menu(pane, of, at), off: !!acts.refusal(pane) },
    ];
    popup.choose(
      of.label || of.name,
      choices.filter(c => !!c),
      at,
    );
  }
}
