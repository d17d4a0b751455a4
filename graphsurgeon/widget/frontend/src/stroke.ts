// A stroke across edges: their tensors become boundary inputs, with Shift outputs, with the other button they are cut.
import type { Actions } from "./actions";
import { counted } from "./dom";
import type { Pane } from "./pane";
import { opOf } from "./places";
import type { Drag } from "./pointer";
import type { Edge } from "./types";

const STEP = 5;

/** Begins a stroke; what it has crossed so far is lit. */
export function stroke(acts: Actions, pane: Pane, first: PointerEvent): Drag {
  const { over, model, status } = acts.p,
    struck = new Set<Edge>(),
    points: [number, number][] = [[first.clientX, first.clientY]];
  const what = first.button === 2 ? "cut" : first.shiftKey ? "boundary outputs" : "boundary inputs",
    no = what === "cut" ? acts.refusal(pane) : pane.name === "source" ? "" : "Boundaries are marked in the source, at the left.";
  const tensors = (): string[] => [...new Set([...struck].flatMap(edge => edge.tensors))];
  return {
    move: e => {
      const [x, y] = points.at(-1)!,
        steps = Math.ceil(Math.hypot(e.clientX - x, e.clientY - y) / STEP);
      for (let i = 1; i <= steps; i++) {
        const found = pane.drawing.at(
          pane.under({ clientX: x + ((e.clientX - x) * i) / steps, clientY: y + ((e.clientY - y) * i) / steps }),
        );
        if (found && !("g" in found) && !found.control) struck.add(found);
      }
      points.push([e.clientX, e.clientY]);
      over.draw(points, "gs-stroke");
      pane.drawing.strike(struck);
      const n = tensors().length;
      over.say(no || `${counted(n, "tensors")}: ${what}`, e, !no && n > 0);
    },
    drop: () => {
      const found = tensors(),
        { inputs, outputs } = model.get("boundary"),
        had = (list: { tensor: string }[]) => list.map(t => t.tensor).filter(t => !found.includes(t));
      if (no) status.say(no, "warn");
      else if (!found.length) status.say("The stroke crossed no edge that carries a tensor.", "warn");
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
