// A stroke across edges: their tensors become boundary inputs, or outputs with Shift; with the right button, edges are cut.
import type { Actions } from "../commands/actions";
import { crossed } from "./crossing";
import { counted } from "../panels/dom";
import type { Pane } from "./pane";
import { opOf } from "../state/places";
import type { Drag } from "./pointer";
import type { Edge } from "../model/types";

/** Begins a stroke; the edges that it has crossed are highlighted. */
export function stroke(acts: Actions, pane: Pane, first: PointerEvent): Drag {
  const { over, model, status } = acts.p,
    struck = new Set<Edge>(),
    edges = (pane.scene?.edges ?? []).filter(edge => !edge.control),
    points: [number, number][] = [[first.clientX, first.clientY]];
  const what = first.button === 2 ? "cut" : first.shiftKey ? "boundary outputs" : "boundary inputs",
    no = what === "cut" ? acts.refusal(pane) : pane.name === "source" ? "" : "Mark boundaries in the source, on the left.";
  const tensors = (): string[] => [...new Set([...struck].flatMap(edge => edge.tensors))];
  return {
    move: e => {
      const from = pane.toScene(...points.at(-1)!);
      for (const edge of crossed(edges, from, pane.toScene(e.clientX, e.clientY))) struck.add(edge);
      points.push([e.clientX, e.clientY]);
      over.draw(points, "gs-stroke");
      const n = tensors().length;
      over.say(no || `${counted(n, "tensors")}: ${what}`, e, !no && n > 0);
      pane.drawing.strike(struck); // last, so that the browser need not lay out the page again for the measures above
    },
    drop: () => {
      const found = tensors(),
        { inputs, outputs } = model.get("boundary"),
        had = (list: { tensor: string }[]) => list.map(t => t.tensor).filter(t => !found.includes(t));
      if (no) status.say(no, "warn");
      else if (!found.length) status.say("The stroke crossed no tensor edge.", "warn");
      else if (what === "cut") acts.ask("detach", { names: [...new Set(found.map(opOf))], side: "outputs" });
      else if (first.shiftKey) acts.ask("set_boundary", { inputs: had(inputs), outputs: [...had(outputs), ...found] });
      else acts.ask("set_boundary", { inputs: [...had(inputs), ...found], outputs: had(outputs) });
    },
    end: () => {
      over.clear();
      pane.drawing.strike(new Set());
    },
  };
}
