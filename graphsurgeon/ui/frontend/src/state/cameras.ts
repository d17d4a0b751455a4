// The cameras of earlier pictures, which undo, redo, back and forward restore.
import type { PaneName } from "../model/verbs.generated";
import type { Model, State } from "../model/types";

/** The camera of a pane, and the size of the pane. */
export interface Camera {
  x: number;
  y: number;
  k: number;
  w: number;
  h: number;
}

/** The cameras of both panes, and whether they show different places. */
export type Cameras = Record<PaneName, Camera> & { apart: boolean };

const MOST = 200;

export class CameraHistory {
  #left = new Map<string, Cameras>();
  #shown = "";
  #restored: number;

  constructor(private readonly model: Model) {
    this.#restored = this.#count();
  }

  /** Whether the current state of the model is an earlier one. */
  get returning(): boolean {
    return this.#count() !== this.#restored;
  }

  /** Called for each state of the model, so that only this state counts as an earlier one. */
  seen(): void {
    queueMicrotask(() => (this.#restored = this.#count()));
  }

  /** Remembers the cameras of the pictures that are replaced; returns those of the next pictures if they are shown again. */
  replace({ source, destination }: State["scenes"], now: Cameras): Cameras | undefined {
    const next = [source, destination].map(scene => scene && `${scene.rev} ${scene.direction}`).join();
    if (next === this.#shown) return undefined;
    const back = this.returning ? this.#left.get(next) : undefined;
    this.#left.delete(this.#shown); // only the latest cameras are kept
    this.#left.set(this.#shown, now);
    if (this.#left.size > MOST) this.#left.delete(this.#left.keys().next().value!);
    this.#shown = next;
    return back;
  }

  #count(): number {
    return this.model.get("views")?.restored ?? 0;
  }
}
