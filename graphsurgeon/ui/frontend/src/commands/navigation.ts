// Navigation: to producers and consumers, back and forward, to saved views.
import type { Actions } from "./actions";
import type { Pane } from "../canvas/pane";
import { figure } from "../panels/dom";
import { opOf } from "../state/places";
import type { Choice } from "../panels/popup";
import type { Position } from "../panels/parts";

const MOST = 40;

export class Navigation {
  constructor(private readonly actions: Actions) {}

  /** Goes to a producer or a consumer of a box, even if it is folded. */
  async along(pane: Pane, way: "producer" | "consumer"): Promise<void> {
    const of = pane.current?.of;
    if (!of) return this.actions.ui.status.show("Select an op first.");
    const details = await this.actions.send("details", { pane: pane.name, name: of.name });
    if (!details) return;
    const own = of.name.replace(/\/$/, "");
    const found = way === "producer" ? [...details.inputs.map(t => opOf(t.tensor)), ...details.control_inputs] : details.consumers;
    const names = [...new Set(found)].filter(name => name !== own),
      go = (name: string) => this.actions.reveal(pane.name, name);
    const total = (way === "consumer" && details.totals.consumers) || names.length;
    if (!names.length) this.actions.ui.status.show(`'${own.slice(0, 80)}' has no ${way}.`);
    else if (names.length === 1) go(names[0]!);
    else
      this.actions.ui.popup.choose(
        `Go to which ${way}?${total > MOST ? ` The first ${MOST} of ${figure(total)}` : ""}`,
        names.slice(0, MOST).map(name => ({ text: name, run: () => go(name) })),
        below(pane),
      );
  }

  /** Saves the current view. */
  async save(pane: Pane, name: string | null = null): Promise<void> {
    await this.actions.send("save_view", { name, at: [pane.view.x, pane.view.y, pane.view.k] });
  }

  async show(pane: Pane, name: string): Promise<void> {
    const at = await this.actions.send("show_view", { name });
    if (Array.isArray(at)) pane.lookFrom(at as number[]);
  }

  /** The view of a digit key. */
  showNumber(pane: Pane, i: number): void {
    const name = this.actions.ui.model.get("views")?.saved[i - 1];
    if (name === undefined) this.actions.ui.status.show(`There is no view ${i}. Press v to save one.`);
    else void this.show(pane, name);
  }

  /** The menu of the signatures and functions of the file. */
  signatures(at: Position): void {
    const { model, popup } = this.actions.ui,
      { signatures, signature } = model.get("views")!;
    popup.choose(
      "Signatures and functions of the file",
      signatures!.map(name => ({ text: name, on: name === signature, run: () => this.actions.post("show_signature", { name }) })),
      at,
    );
  }

  /** The menu of views. */
  menu(pane: Pane, at?: Position): void {
    const saved = this.actions.ui.model.get("views")?.saved ?? [];
    const choices: Choice[] = saved
      .slice(0, MOST)
      .map((name, i) => ({ text: name, key: i < 9 ? String(i + 1) : undefined, verb: "show_view", run: () => void this.show(pane, name) }));
    choices.push({
      text: "Save this view\u2026",
      verb: "save_view",
      run: () =>
        this.actions.ui.popup.form(
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
          this.actions.ui.popup.choose(
            "Delete which view?",
            saved.map(name => ({ text: name, run: () => this.actions.post("delete_view", { name }) })),
            at,
          ),
      });
    this.actions.ui.popup.choose("Views", choices, at ?? below(pane));
  }
}

/** The position of a menu of the selected edge, or of the current box. */
export function below(pane: Pane): Position | undefined {
  const { edge } = pane.drawing,
    r = (edge.isConnected ? edge : pane.current?.g)?.getBoundingClientRect();
  return r && { x: r.left + 12, y: r.bottom };
}

/** The position of a menu that does not cover the picture. */
export function corner({ canvas }: Pane): Position {
  const r = canvas.getBoundingClientRect();
  return { x: r.left + 8, y: r.top + 8 };
}
