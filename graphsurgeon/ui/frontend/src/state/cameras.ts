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

export class CameraHistory {
  #cameras = new Map<string, Cameras>();
  #current = "";
  #restored: number;

  constructor(private readonly model: Model) {
    this.#restored = this.#count();
  }

  /** Whether the current state of the model is an earlier one. */
  get returning(): boolean {
    return this.#count() !== this.#restored;
  }

  /** Called for each state of the model, so that only this state counts as an earlier one. */
  settle(): void {
    queueMicrotask(() => (this.#restored = this.#count()));
  }

  /** Remembers the cameras of the pictures that are replaced; returns those of the next pictures if they are shown again. */
  replace({ source, destination }: State["scenes"], now: Cameras): Cameras | undefined {
    // `rev` would differ after an undo, because the graph still has the undone ops, as orphans
    const names = (scene: Scene | null | undefined) => scene && [...scene.groups, ...scene.boxes].map(of => of.name),
      next = JSON.stringify([source, destination].map(scene => [scene?.direction, names(scene)]));
    if (next === this.#current) return undefined;
    const back = this.returning ? this.#cameras.get(next) : undefined;
    this.#cameras.delete(this.#current); // only the latest cameras are kept
    this.#cameras.set(this.#current, now);
    if (this.#cameras.size > MOST) this.#cameras.delete(this.#cameras.keys().next().value!);
    this.#current = next;
    return back;
  }

  #count(): number {
    return this.model.get("views")?.restored ?? 0;
  }
}
