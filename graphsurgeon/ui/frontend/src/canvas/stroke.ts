// A stroke across edges: their tensors become boundary inputs, or outputs with Shift; with the right button, edges are cut.
import type { Actions } from "../commands/actions";
import { crossingEdges } from "./crossing";
import { countOf } from "../panels/dom";
import type { Pane } from "./pane";
import { opOf } from "../state/places";
import type { Drag } from "./pointer";
import type { Edge } from "../model/types";

/** Begins a stroke; the edges that it has crossed are highlighted. */
export function stroke(actions: Actions, pane: Pane, first: PointerEvent): Drag {
  const { overlay, model, status } = actions.ui,
    struck = new Set<Edge>(),
    edges = (pane.scene?.edges ?? []).filter(edge => !edge.control),
    points: [number, number][] = [[first.clientX, first.clientY]];
  const what = first.button === 2 ? "cut" : first.shiftKey ? "boundary outputs" : "boundary inputs",
    no = what === "cut" ? actions.refusal(pane) : pane.name === "source" ? "" : "Mark boundaries in the source, on the left.";
  const tensors = (): string[] => [...new Set([...struck].flatMap(edge => edge.tensors))];
  return {
    move: e => {
      const from = pane.toScene(...points.at(-1)!);
      for (const edge of crossingEdges(edges, from, pane.toScene(e.clientX, e.clientY))) struck.add(edge);
      points.push([e.clientX, e.clientY]);
      overlay.draw(points, "gs-stroke");
      const n = tensors().length;
      overlay.showTip(no || `${countOf(n, "tensors")}: ${what}`, e, !no && n > 0);
      pane.drawing.strike(struck); // last, so that the browser need not lay out the page again for the measures above
    },
    drop: () => {
      const found = tensors(),
        { inputs, outputs } = model.get("boundary"),
        had = (list: { tensor: string }[]) => list.map(t => t.tensor).filter(t => !found.includes(t));
      if (no) status.show(no, "warn");
      else if (!found.length) status.show("The stroke crossed no tensor edge.", "warn");
      else if (what === "cut") actions.post("detach", { names: [...new Set(found.map(opOf))], side: "outputs" });
      else if (first.shiftKey) actions.post("set_boundary", { inputs: had(inputs), outputs: [...had(outputs), ...found] });
      else actions.post("set_boundary", { inputs: [...had(inputs), ...found], outputs: had(outputs) });
    },
    end: () => {
      overlay.clear();
      pane.drawing.strike(new Set());
    },
  };
}
