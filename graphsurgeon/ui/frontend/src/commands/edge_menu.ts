// The menu of an edge: actions on its tensor and on its consumers.
import type { Actions } from "./actions";
import type { Edits } from "./edits";
import type { Pane } from "../canvas/pane";
import { isFold, opOf } from "../state/places";
import type { Choice } from "../panels/popup";
import { edgeTitle } from "../canvas/shapes";
import type { Box, Edge } from "../model/types";

type At = { x: number; y: number };

export class EdgeMenu {
  constructor(
    private readonly acts: Actions,
    private readonly edits: Edits,
  ) {}

  /** The choices for the tensor of an edge. If the edge has several tensors, a menu to choose one comes first. */
  menu(pane: Pane, edge: Edge, at: At): void {
    const { popup } = this.acts.p;
    if (edge.control) return popup.choose(edgeTitle(edge), this.#order(pane, edge), at);
    if (edge.tensors.length === 1) return this.#tensor(pane, edge, edge.tensors[0]!, at);
    popup.choose(
      edgeTitle(edge),
      edge.tensors.map((tensor, i) => ({
        text: [tensor, edge.texts?.[i]].filter(Boolean).join("  "),
        run: () => this.#tensor(pane, edge, tensor, at),
      })),
      at,
    );
  }

  #tensor(pane: Pane, edge: Edge, tensor: string, at: At): void {
    const { acts, edits } = this,
      { popup } = acts.p,
      to = this.#end(pane, edge.to),
      only = [to.name],
      off = !!acts.refusal(pane),
      unmarked = !!acts.unmarked(pane),
      name = to.label.slice(0, 40);
    popup.choose(
      tensor,
      [
        { text: `Insert op before ${name}\u2026`, off, verb: "insert", run: () => edits.insert(tensor, only) },
        {
          text: `Reroute: feed ${name} from another tensor\u2026`,
          off,
          verb: "reroute",
          run: () => acts.arm(pane, "reroute", { tensor, box: this.#end(pane, edge.from).name, only }),
        },
        {
          text: "Cut: placeholders feed its consumers",
          off,
          verb: "detach",
          run: () => acts.ask("detach", { names: [opOf(tensor)], side: "outputs" }),
        },
        { text: "Mark as boundary input", key: "i", off: unmarked, verb: "mark_input", run: () => acts.ask("mark_input", { tensor }) },
        { text: "Mark as boundary output", key: "o", off: unmarked, verb: "mark_output", run: () => acts.ask("mark_output", { tensor }) },
        ...this.#ends(pane, opOf(tensor), to.name),
      ],
      at,
    );
  }

  #order(pane: Pane, edge: Edge): Choice[] {
    const { acts } = this,
      to = this.#end(pane, edge.to),
      [after] = edge.tensors.map(opOf),
      off = !!acts.refusal(pane) || isFold(to) || edge.count > 1;
    return [
      {
        text: `Remove: ${to.label} no longer waits`,
        off,
        verb: "remove_control",
        run: () => acts.ask("remove_control", { op: to.name, after: after! }),
      },
      ...this.#ends(pane, after!, to.name),
    ];
  }

  #ends(pane: Pane, from: string, to: string): Choice[] {
    const { acts } = this;
    return [
      { text: "Go to its producer", verb: "reveal", run: () => acts.reveal(pane.name, from) },
      { text: "Go to its consumer", verb: "reveal", run: () => acts.reveal(pane.name, to) },
    ];
  }

  #end(pane: Pane, id: string): Box {
    return pane.scene!.boxes.find(box => box.id === id)!;
  }
}
