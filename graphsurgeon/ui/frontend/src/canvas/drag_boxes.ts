// Boxes that are dragged to the other pane or onto an edge.
import type { Actions } from "../commands/actions";
import type { Pane } from "./pane";
import type { Drag } from "./pointer";
import type { Item } from "./scene";
import type { Edge } from "../model/types.generated";

/** Drags boxes to the other pane, or onto an edge of the graph that the plan changes. */
export function dragBoxes(actions: Actions, pane: Pane, item: Item): Drag {
  const { model } = actions,
    { boxes, ops } = model.get("boundary");
  const region = pane.name === "source" && !!ops && !actions.selected.source.has(item.of.name) && !!boxes[item.of.name],
    names = region ? Object.keys(boxes) : actions.boxesOf(pane, item.of),
    what = region ? "the region" : names.length > 1 ? `${names.length} boxes` : item.of.label;
  return onto(
    actions,
    `a copy of ${what}`,
    there =>
      there && there !== pane && there.name === "destination"
        ? [`copy ${what} to ${model.get("titles").destination}`, true]
        : [`${what}: drop it on an edge${model.get("scenes").destination ? ", or on the right" : ""}`, false],
    (_there, edge) => {
      if (edge) actions.post("insert_copy", { names, on: edge.tensor, to: null, pane: actions.isSingleGraph ? "destination" : pane.name });
      else if (region) void actions.copy({ to: null, unmapped: "placeholder", control: "auto" });
      else void actions.paste("duplicate", { names, pane: pane.name, to: null, keep_inputs: false });
    },
  );
}

/** Drags an op type onto an edge; `insert` inserts an op there. */
export function dragType(actions: Actions, type: string, insert: (pane: Pane, edge: Edge) => void): Drag {
  return onto(
    actions,
    type,
    () => [`${type}: drop it on an edge`, false],
    (there, edge) => insert(there, edge!),
  );
}

/** Drags something onto an edge. `elsewhere` returns the effect of a drop on another place in words, and whether it has one. */
function onto(
  actions: Actions,
  what: string,
  elsewhere: (there?: Pane) => [string, boolean],
  drop: (there: Pane, edge: Edge | null) => void,
): Drag {
  const { overlay } = actions,
    all = Object.values(actions.panes);
  let there: Pane | undefined, edge: Edge | null;
  const words = (): [string, boolean] =>
    !edge ? elsewhere(there) : edge.count === 1 ? [`${what} after ${edge.tensor}`, true] : ["this edge combines several tensors", false];
  return {
    move: e => {
      there = all.find(p => p.contains(e));
      const found = there?.itemAt(e, there.elementAt(e));
      edge = found && !("g" in found) && !found.control && !actions.refusal(there!) ? found : null;
      const [text, good] = words();
      overlay.showTip(text, e, good);
      for (const p of all) {
        p.drawing.lightEdge(p === there ? edge : null);
        p.canvas.classList.toggle("gs-target", p === there && good && !edge);
      }
    },
    drop: () => {
      const [text, good] = words();
      if (good) drop(there!, edge);
      else actions.notify(text, "warn");
    },
    end: () => {
      overlay.clear();
      for (const p of all) {
        p.drawing.lightEdge(actions.state.edge);
        p.canvas.classList.remove("gs-target");
      }
    },
  };
}
