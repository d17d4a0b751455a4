// Navigation: to producers and consumers, back and forward, to saved views.
import type { Actions } from "./actions";
import type { Pane } from "../canvas/pane";
import { figure } from "../panels/dom";
import { opOf } from "../state/places";
import type { Choice } from "../panels/popup";

const MOST = 40;

export class Going {
  constructor(private readonly acts: Actions) {}

  /** Goes to a producer or a consumer of a box, even if it is folded. */
  async along(pane: Pane, way: "producer" | "consumer"): Promise<void> {
    const of = pane.current?.of;
    if (!of) return this.acts.p.status.say("Select an op first.");
    const details = await this.acts.send("details", { pane: pane.name, name: of.name });
    if (!details) return;
    const own = of.name.replace(/\/$/, "");
    const found = way === "producer" ? [...details.inputs.map(t => opOf(t.tensor)), ...details.control_inputs] : details.consumers;
    const names = [...new Set(found)].filter(name => name !== own),
      go = (name: string) => this.acts.reveal(pane.name, name);
    const total = (way === "consumer" && details.totals?.consumers) || names.length;
    if (!names.length) this.acts.p.status.say(`'${own.slice(0, 80)}' has no ${way}.`);
    else if (names.length === 1) go(names[0]!);
    else
      this.acts.p.popup.choose(
        `Go to which ${way}?${total > MOST ? ` The first ${MOST} of ${figure(total)}` : ""}`,
        names.slice(0, MOST).map(name => ({ text: name, run: () => go(name) })),
        below(pane),
      );
  }

  /** Goes one step back or forward, with the camera of that step. */
  step(way: "back" | "forward"): void {
    this.acts.ask(way, {});
  }

  /** Saves the current view. */
  async save(pane: Pane, name: string | null = null): Promise<void> {
    await this.acts.send("save_view", { name, at: [pane.view.x, pane.view.y, pane.view.k] });
  }

  async show(pane: Pane, name: string): Promise<void> {
    const at = await this.acts.send("show_view", { name });
    if (Array.isArray(at)) pane.lookFrom(at as number[]);
  }

  /** The view of a digit key. */
  numbered(pane: Pane, i: number): void {
    const name = this.acts.p.model.get("views")?.saved[i - 1];
    if (name === undefined) this.acts.p.status.say(`There is no view ${i}. Press v to save one.`);
    else void this.show(pane, name);
  }

  /** The menu of views. */
  menu(pane: Pane, at?: { x: number; y: number }): void {
    const saved = this.acts.p.model.get("views")?.saved ?? [];
    const choices: Choice[] = saved
      .slice(0, MOST)
      .map((name, i) => ({ text: name, key: i < 9 ? String(i + 1) : undefined, verb: "show_view", run: () => void this.show(pane, name) }));
    choices.push({
      text: "Save this view\u2026",
      verb: "save_view",
      run: () =>
        this.acts.p.popup.ask(
          "Save this view",
          [{ name: "name", label: "Name", value: `view ${saved.length + 1}` }],
          "Save",
          v => void this.save(pane, v["name"] || null),
        ),
    });
    if (saved.length)
      choices.push({
        text: "Delete a view\u2026",
        verb: "delete_view",
        run: () =>
          this.acts.p.popup.choose(
            "Delete which view?",
            saved.map(name => ({ text: name, run: () => this.acts.ask("delete_view", { name }) })),
            at,
          ),
      });
    this.acts.p.popup.choose("Views", choices, at ?? below(pane));
  }
}

/** The position of a menu of the current box. */
export function below(pane: Pane): { x: number; y: number } | undefined {
  const r = pane.current?.g.getBoundingClientRect();
  return r && { x: r.left + 12, y: r.bottom };
}

/** The position of a menu that does not cover the picture. */
export function corner({ canvas }: Pane): { x: number; y: number } {
  const r = canvas.getBoundingClientRect();
  return { x: r.left + 8, y: r.top + 8 };
}
