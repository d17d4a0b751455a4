// Boxes that are dragged to the other pane or onto an edge, copied, pasted or duplicated.
import type { Actions } from "../commands/actions";
import type { Pane } from "./pane";
import type { Drag } from "./pointer";
import type { Item } from "./scene";
import type { Edge } from "../model/types";

export class Carry {
  constructor(private readonly acts: Actions) {}

  /** The boxes to act on: the selection, or without a selection, the focused box. */
  #names(pane: Pane, item: Item | null): string[] {
    const selected = this.acts.selected[pane.name];
    return selected.size && (!item || selected.has(item.of.name)) ? [...selected] : item ? [item.of.name] : [];
  }

  hold(pane: Pane): void {
    const names = this.#names(pane, pane.current);
    if (names.length) this.acts.ask("copy_to_clipboard", { names, pane: pane.name });
  }
  cut(pane: Pane): void {
    const names = this.#names(pane, pane.current),
      no = this.acts.refusal(pane);
    if (no) this.acts.p.status.say(no, "warn");
    else if (names.length) this.acts.ask("cut", { names });
  }
  paste(keep: boolean): void {
    void this.#planned(this.acts.send("paste", { to: null, keep_inputs: keep }));
  }
  duplicate(pane: Pane): void {
    const names = this.#names(pane, pane.current),
      no = this.acts.refusal(pane);
    if (no) this.acts.p.status.say(no, "warn");
    else if (names.length) void this.#planned(this.acts.send("duplicate", { names, pane: "destination", to: null, keep_inputs: true }));
  }

  async #planned(answer: Promise<unknown>): Promise<void> {
    if ((await answer) !== null && this.acts.p.model.get("plan").faults.length) this.acts.p.plan.show("problems");
  }

  /** Drags boxes to the other pane, or onto an edge of the graph that the plan changes. */
  begin(pane: Pane, item: Item): Drag {
    const { over, panes, model, status } = this.acts.p,
      { boxes, ops } = model.get("boundary"),
      all = Object.values(panes);
    const region = pane.name === "source" && !!ops && !this.acts.selected.source.has(item.of.name) && !!boxes[item.of.name],
      names = region ? Object.keys(boxes) : this.#names(pane, item),
      same = model.get("plan").same !== false,
      what = region ? "the region" : names.length > 1 ? `${names.length} boxes` : item.of.label;
    let last: { there: Pane | undefined; edge: Edge | null } = { there: undefined, edge: null };
    const under = (e: PointerEvent): typeof last => {
      const there = all.find(p => p.holds(e)),
        found = there?.found(e, there.under(e));
      const edge = found && !("g" in found) && !found.control && (same || there?.name === "destination") ? found : null;
      return { there, edge };
    };
    const words = ({ there, edge }: typeof last): [string, boolean] => {
      if (edge)
        return edge.count === 1 ? [`a copy of ${what} after ${edge.tensors[0]}`, true] : ["this edge combines several tensors", false];
      if (there && there !== pane && there.name === "destination") return [`copy ${what} to ${model.get("titles").destination}`, true];
      return [`${what}: drop it on an edge${model.get("scenes").destination ? ", or on the right" : ""}`, false];
    };
    return {
      move: e => {
        last = under(e);
        const [text, good] = words(last);
        over.say(text, e, good);
        for (const p of all) {
          p.drawing.lightEdge(p === last.there ? last.edge : null);
          p.canvas.classList.toggle("gs-target", p === last.there && good && !last.edge);
        }
      },
      drop: () => {
        const { edge } = last,
          [text, good] = words(last);
        if (!good) status.say(text, "warn");
        else if (edge) this.acts.ask("insert_copy", { names, on: edge.tensors[0]!, to: null, pane: same ? "destination" : pane.name });
        else if (region) void this.acts.copy({ to: null, unmapped: "placeholder", control: "auto" });
        else void this.#planned(this.acts.send("duplicate", { names, pane: pane.name, to: null, keep_inputs: false }));
      },
      end: () => {
        over.clear();
        for (const p of all) {
          p.drawing.lightEdge(null);
          p.canvas.classList.remove("gs-target");
        }
      },
    };
  }
}
