// The menu of an edge: actions on its tensor and on its consumers.
import type { Actions } from "./actions";
import type { Edits } from "./edits";
import type { Pane } from "../canvas/pane";
import { isFold, opOf } from "../state/places";
import type { Choice } from "../panels/popup";
import type { Position } from "../panels/parts";
import { edgeTitle } from "../canvas/shapes";
import type { Edge } from "../model/types.generated";

export class EdgeMenu {
  constructor(
    private readonly actions: Actions,
    private readonly edits: Edits,
  ) {}

  /** Asks for an op to insert on an edge. */
  insert(pane: Pane, edge: Edge): void {
    this.edits.insert(edge.tensor, [this.actions.ends(pane, edge)[1].name]);
  }

  /** The choices for the tensor of an edge. If the edge has several tensors, a menu to choose one comes first. */
  async menu(pane: Pane, edge: Edge, at: Position): Promise<void> {
    const { popup } = this.actions;
    if (edge.control) return popup.choose(edgeTitle(edge), this.#order(pane, edge), at);
    if (edge.count === 1) return this.#tensor(pane, edge, edge.tensor, at);
    const tensors = await this.actions.tensorsOf(pane, edge);
    if (!tensors || this.actions.state.edge !== edge) return; // meanwhile, the user has gone elsewhere
    popup.choose(
      edgeTitle(edge),
      tensors.map(({ tensor, text }) => ({
        text: [tensor, text].filter(Boolean).join("  "),
        run: () => this.#tensor(pane, edge, tensor, at),
      })),
      at,
    );
  }

  #tensor(pane: Pane, edge: Edge, tensor: string, at: Position): void {
    const actions = this.actions,
      edits = this.edits,
      { popup } = actions,
      [from, to] = actions.ends(pane, edge),
      only = [to.name],
      off = !!actions.refusal(pane),
      name = to.label.slice(0, 40);
    popup.choose(
      tensor,
      [
        { text: `Insert op before ${name}\u2026`, off, verb: "insert", run: () => edits.insert(tensor, only) },
        {
          text: `Reroute: feed ${name} from another tensor\u2026`,
          off,
          verb: "reroute",
          run: () => actions.startEdit(pane, "reroute", { tensor, box: from.name, only }),
        },
        actions.item("Cut: placeholders feed its consumers", "detach", { names: [opOf(tensor)], side: "outputs" }, { off }),
        edits.choice("input", pane, undefined, { run: () => actions.post("mark_input", { tensor }) }),
        edits.choice("output", pane, undefined, { run: () => actions.post("mark_output", { tensor }) }),
        ...this.#ends(pane, opOf(tensor), to.name),
      ],
      at,
    );
  }

  #order(pane: Pane, edge: Edge): Choice[] {
    const actions = this.actions,
      [, to] = actions.ends(pane, edge),
      after = opOf(edge.tensor),
      off = !!actions.refusal(pane) || isFold(to) || edge.count > 1;
    return [
      actions.item(`Remove: ${to.label} no longer waits`, "remove_control", { op: to.name, after }, { off }),
      ...this.#ends(pane, after, to.name),
    ];
  }

  #ends(pane: Pane, from: string, to: string): Choice[] {
    const actions = this.actions;
    return [
      { text: "Go to its producer", verb: "reveal", run: () => actions.reveal(pane.name, from) },
      { text: "Go to its consumer", verb: "reveal", run: () => actions.reveal(pane.name, to) },
    ];
  }
}
