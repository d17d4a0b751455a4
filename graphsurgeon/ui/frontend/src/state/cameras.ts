// The cameras of earlier pictures, which undo, redo, back and forward restore.
import type { Model } from "../model/api";
import type { Size } from "../canvas/view";
import type { PaneName, Scene, State } from "../model/types.generated";

/** The camera of a pane, and the size of the pane. */
export interface Camera {
  x: number;
  y: number;
  k: number;
  size: Size;
}

/** The cameras of both panes, and whether they show different places. */
export type Cameras = Record<PaneName, Camera> & { apart: boolean };

const MOST = 200;

export function cameraHistory(model: Model) {
  const history = new Map<string, Cameras>(),
    count = (): number => model.get("views")?.restored ?? 0;
  let current = "",
    restored = count();
  /** Whether the current state of the model is an earlier one. */
  const isReturning = (): boolean => count() !== restored;
  return {
    isReturning,

    /** Called for each state of the model, so that only this state counts as an earlier one. */
    settle(): void {
      queueMicrotask(() => (restored = count()));
    },

    /** Remembers the cameras of the pictures that are replaced; returns those of the next pictures if they are shown again. */
    replace({ source, destination }: State["scenes"], now: Cameras): Cameras | undefined {
      // `rev` would differ after an undo, because the graph still has the undone ops, as orphans
      const names = (scene: Scene | null | undefined) => scene && [...scene.groups, ...scene.boxes].map(of => of.name),
        next = JSON.stringify([source, destination].map(scene => [scene?.direction, names(scene)]));
      if (next === current) return undefined;
      const back = isReturning() ? history.get(next) : undefined;
      history.delete(current); // only the latest cameras are kept
      history.set(current, now);
      if (history.size > MOST) history.delete(history.keys().next().value!);
      current = next;
      return back;
    },
  };
}
