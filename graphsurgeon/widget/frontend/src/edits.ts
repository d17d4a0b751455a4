// Edits of what the graph has already: the second menu of a box, and what some of its items ask.
import type { Acts } from "./acts";
import type { Pane } from "./pane";
import { isFold } from "./places";
import type { Choice, Popup } from "./popup";
import type { Box, Group, Model } from "./types";

/** What takes two picks: the first is armed, the second says the other end. */
export type TwoPicks = "connect" | "reroute" | "swap" | "add_control";

export const SECOND: Record<Exclude<TwoPicks, "connect">, { menu: string; ask: string; key?: string }> = {
  reroute: { menu: "Let what reads it read \u2026", ask: "go to the op whose output they shall read and press r", key: "r" },
  swap: { menu: "Swap its readers with those of \u2026", ask: "go to the other op and press Enter" },
  add_control: { menu: "Run it after \u2026", ask: "go to the op that shall run first and press Enter" },
};

export class Edits {
  constructor(private acts: Acts, private model: Model, private popup: Popup) {}

  /** Why the boxes of a pane cannot be edited; empty where they can. */
  refusal(pane: Pane): string {
    const here = pane.name === "destination" || this.model.get("plan").same !== false;
    return here ? "" : `Edits are made in ${this.model.get("titles").destination}, at the right.`;
  }

  /** What is picked in a pane if the box is part of it, else the box alone. */
  private names(pane: Pane, of: Box | Group): string[] {
    const picked = this.acts.picked[pane.name];
    return picked.has(of.name) ? [...picked] : [of.name];
  }

  remove(pane: Pane, of: Box | Group, stitch: boolean): void {
    const names = this.names(pane, of);
    const folds = names.filter(name => /[/\]]$/.test(name));
    const go = () => void this.acts.send("remove", { names, stitch });
    if (folds.length) this.popup.confirm(`Take out all of ${folds.join(", ").slice(0, 120)}?`, ["It is a step of the plan: Ctrl+Z takes it back."], "Take out", go);
    else go();
  }

  menu(pane: Pane, of: Box | Group, at: { x: number; y: number }): void {
    const fold = isFold(of), names = this.names(pane, of), { acts, popup } = this;
    const two = (verb: Exclude<TwoPicks, "connect">): Choice => ({ text: SECOND[verb].menu, key: SECOND[verb].key, run: () => acts.arm(pane, verb) });
    const choices: (Choice | false)[] = [
      !fold && two("reroute"), !fold && two("swap"),
      !fold && { text: "Bypass it", run: () => void acts.send("bypass", { op: of.name }) },
      !fold && { text: "Insert an op behind it \u2026", run: () => popup.ask("Insert an op behind it", [
        { name: "op", label: "Op type, of one input", value: "Identity" }, { name: "name", label: "Name", value: "", hint: "a free one" }],
        "Insert", v => void acts.send("insert", { op: v.op!, on: acts.tensorOf(of.name), name: v.name || null })) },
      { text: "Take it out", key: "Shift+Del", run: () => this.remove(pane, of, false) },
      { text: "Take it out and stitch", key: "Del", run: () => this.remove(pane, of, true) },
      { text: "Feed it by placeholders", run: () => void acts.send("detach", { names, side: "inputs" }) },
      { text: "Feed its readers by placeholders", run: () => void acts.send("detach", { names, side: "outputs" }) },
      !fold && two("add_control"),
      !fold && { text: "Wait for nothing", run: () => void acts.send("remove_control", { op: of.name, after: null }) },
      { text: "Place on a device \u2026", run: () => popup.ask("Place on a device", [{ name: "device", label: "Device", value: "/cpu:0", hint: "any" }],
        "Place", v => void acts.send("set_device", { names, device: v.device! })) },
      { text: "Set an attribute \u2026", run: () => popup.ask("Set an attribute", [
        { name: "name", label: "Attribute", value: "" }, { name: "value", label: "Value, as Python", value: "" }],
        "Set", v => void acts.send("set_attr", { names, name: v.name!, value: v.value! })) },
    ];
    popup.choose(of.label || of.name, choices.filter(c => !!c), at);
  }
}
