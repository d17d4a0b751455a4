// The banner over the picture: what to click, or the lens. The lens shows only neighbors of the selection, or only the region, or only
// the path from one box to another.
import type { Actions } from "../commands/actions";
import { button, valueOf } from "../panels/parts";
import { draw, h, make } from "../panels/vnodes";
import { reach } from "../state/neighbors";
import { corner } from "../commands/navigation";
import type { Pane } from "./pane";
import { opOf, placeOf } from "../state/places";
import type { LensOf } from "../state/store";

const ALL = 9;

export class Lens {
  readonly element = make("div");

  constructor(private readonly actions: Actions) {}

  get #lens(): LensOf | null {
    return this.actions.state.lens;
  }
  #set(changes: Partial<LensOf>): void {
    if (this.#lens) this.actions.store.set({ lens: { ...this.#lens, ...changes } });
  }
  close(): void {
    this.actions.store.set({ lens: null });
  }

  /** Shows only neighbors of the selection, or of the box with the focus; a second call shows all again. */
  toggle(pane: Pane): void {
    const item = pane.current;
    if (this.#lens) this.close();
    else if (item) this.#open(pane, { kind: "near", names: [item.of.name], near: 1, text: "" });
  }

  /** Shows only the region with its ports, or without a region only the selection. */
  isolate(pane: Pane): void {
    const { boxes, inputs, outputs, ops } = this.actions.model.get("boundary"),
      { scene } = pane,
      region = ops && pane.name === "source";
    const ports = region && scene ? [...inputs, ...outputs].flatMap(t => placeOf(scene, opOf(t.tensor))?.name ?? []) : [];
    const names = region ? [...Object.keys(boxes), ...ports] : [...this.actions.selected[pane.name]];
    if (this.#lens) this.close();
    else if (!names.length) this.actions.notify("Mark a boundary, or select boxes first.", "warn");
    else this.#open(pane, { kind: "alone", names, near: 0, text: region ? "Only the region" : "Only the selection" });
  }

  /** Selects all boxes between two selected boxes. */
  between(pane: Pane): void {
    const two = this.#two(pane);
    if (two && pane.name === "destination") this.actions.notify("Select them in the source, on the left.", "warn");
    else if (two) this.actions.post("select_between", { a: two[0], b: two[1] });
  }

  /** Shows the shortest path between two selected boxes; a step is highlighted while the pointer is on it. */
  async showPath(pane: Pane): Promise<void> {
    const two = this.#two(pane),
      path = two && (await this.actions.send("show_path", { a: two[0], b: two[1], pane: pane.name }));
    if (!path || !pane.scene) return;
    const at = (op: string) => (pane.scene && placeOf(pane.scene, op)?.name) ?? op;
    this.#open(pane, { kind: "alone", names: path.steps.map(step => at(step.op)), near: 0, text: path.text });
    this.actions.popup.choose(
      path.text,
      path.steps.map(step => ({
        text: step.text,
        shows: () => pane.drawing.aim(pane.drawing.find(at(step.op)) ?? null),
        run: () => this.actions.reveal(pane.name, step.op),
      })),
      corner(pane),
      () => pane.drawing.aim(null),
    );
  }

  #two(pane: Pane): [string, string] | null {
    const [a, b, more] = this.actions.selected[pane.name];
    if (a !== undefined && b !== undefined && more === undefined) return [a, b];
    this.actions.notify("Select two boxes first: click one, Shift+click the other.", "warn");
    return null;
  }

  #open(pane: Pane, lens: Omit<LensOf, "pane">): void {
    this.actions.store.set({ lens: { ...lens, pane: pane.name } });
    pane.lookAt([...(this.names(pane) ?? [])]);
  }

  /** Names of the boxes that are shown in a pane; null if all are. */
  names(pane: Pane): Set<string> | null {
    const lens = this.#lens,
      { scene } = pane;
    if (!lens || lens.pane !== pane.name || !scene) return null;
    if (lens.kind === "alone") return new Set(lens.names);
    const selected = this.actions.selected[pane.name],
      names = new Set(selected.size ? selected : lens.names);
    const ids = scene.boxes.filter(box => names.has(box.name)).map(box => box.id),
      most = lens.near < ALL ? lens.near : Infinity;
    const shown = new Set([...reach(scene, ids, "up", most), ...reach(scene, ids, "down", most)]);
    return new Set(scene.boxes.filter(box => shown.has(box.id)).map(box => box.name));
  }

  update(): void {
    const { picking } = this.actions.state;
    if (picking)
      return draw(
        this.element,
        h(
          "div.gs-lens",
          { key: "pick" },
          h("span", `${picking.purpose}: ${picking.how}. Esc cancels.`),
          button({ icon: "close", label: "Cancel (Esc)", kind: "quiet", onclick: () => this.actions.escape(this.actions.pane) }),
        ),
      );
    const lens = this.#lens,
      near = lens?.near ?? 0,
      steps = near < ALL ? `${near} ${near === 1 ? "step" : "steps"} away` : "everything upstream and downstream";
    draw(
      this.element,
      h(
        "div.gs-lens",
        { role: "group", "aria-label": "Focus", hidden: !lens },
        h("span.gs-word", lens?.kind === "near" ? steps : lens?.text),
        h("input", {
          type: "range",
          min: 1,
          max: ALL,
          value: String(near),
          hidden: lens?.kind !== "near",
          "aria-label": "Number of steps",
          "aria-valuetext": steps,
          oninput: (e: Event) => this.#set({ near: +valueOf(e) }),
        }),
        button({ icon: "close", label: "Show all again (Esc)", kind: "quiet", onclick: () => this.close() }),
      ),
    );
  }
}
