// Boxes that are dragged to the other pane or onto an edge, copied, pasted or duplicated.
import type { Actions } from "../commands/actions";
import type { Pane } from "./pane";
import type { Drag } from "./pointer";
import type { Item } from "./scene";
import type { Edge } from "../model/types.generated";

export class BoxDrag {
  readonly #actions: Actions;

  constructor(actions: Actions) {
    this.#actions = actions;
  }

  /** The boxes to act on: the selection, or without a selection, the focused box. */
  #names(pane: Pane, item: Item | null): string[] {
    const selected = this.#actions.selected[pane.name];
    return selected.size && (!item || selected.has(item.of.name)) ? [...selected] : item ? [item.of.name] : [];
  }

  copy(pane: Pane): void {
    const names = this.#names(pane, pane.current);
    if (names.length) this.#actions.post("copy_to_clipboard", { names, pane: pane.name });
  }
  cut(pane: Pane): void {
    const names = this.#names(pane, pane.current);
    if (this.#actions.canEdit(pane) && names.length) this.#actions.post("cut", { names });
  }
  paste(): void {
    void this.#showProblems(this.#actions.send("paste", { to: null, keep_inputs: false }));
  }
  duplicate(pane: Pane): void {
    const names = this.#names(pane, pane.current);
    if (this.#actions.canEdit(pane) && names.length)
      void this.#showProblems(this.#actions.send("duplicate", { names, pane: "destination", to: null, keep_inputs: true }));
  }

  async #showProblems(answer: Promise<unknown>): Promise<void> {
    if ((await answer) !== null && this.#actions.ui.model.get("plan").faults.length) this.#actions.ui.plan.show("problems");
  }

  /** Drags boxes to the other pane, or onto an edge of the graph that the plan changes. */
  begin(pane: Pane, item: Item): Drag {
    const { overlay, panes, model, status } = this.#actions.ui,
      { boxes, ops } = model.get("boundary"),
      all = Object.values(panes);
    const region = pane.name === "source" && !!ops && !this.#actions.selected.source.has(item.of.name) && !!boxes[item.of.name],
      names = region ? Object.keys(boxes) : this.#names(pane, item),
      same = model.get("plan").same !== false,
      what = region ? "the region" : names.length > 1 ? `${names.length} boxes` : item.of.label;
    let last: { there: Pane | undefined; edge: Edge | null } = { there: undefined, edge: null };
    const under = (e: PointerEvent): typeof last => {
      const there = all.find(p => p.contains(e)),
        found = there?.itemAt(e, there.elementAt(e));
      const edge = found && !("g" in found) && !found.control && (same || there?.name === "destination") ? found : null;
      return { there, edge };
    };
    const words = ({ there, edge }: typeof last): [string, boolean] => {
      if (edge) return edge.count === 1 ? [`a copy of ${what} after ${edge.tensor}`, true] : ["this edge combines several tensors", false];
      if (there && there !== pane && there.name === "destination") return [`copy ${what} to ${model.get("titles").destination}`, true];
      return [`${what}: drop it on an edge${model.get("scenes").destination ? ", or on the right" : ""}`, false];
    };
    return {
      move: e => {
        last = under(e);
        const [text, good] = words(last);
        overlay.showTip(text, e, good);
        for (const p of all) {
          p.drawing.lightEdge(p === last.there ? last.edge : null);
          p.canvas.classList.toggle("gs-target", p === last.there && good && !last.edge);
        }
      },
      drop: () => {
        const { edge } = last,
          [text, good] = words(last);
        if (!good) status.show(text, "warn");
        else if (edge) this.#actions.post("insert_copy", { names, on: edge.tensor, to: null, pane: same ? "destination" : pane.name });
        else if (region) void this.#actions.copy({ to: null, unmapped: "placeholder", control: "auto" });
        else void this.#showProblems(this.#actions.send("duplicate", { names, pane: pane.name, to: null, keep_inputs: false }));
      },
      end: () => {
        overlay.clear();
        for (const p of all) {
          p.drawing.lightEdge(null);
          p.canvas.classList.remove("gs-target");
        }
      },
    };
  }
}
