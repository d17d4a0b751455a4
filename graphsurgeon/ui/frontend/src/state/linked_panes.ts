// Links the panes before and after the plan, which are panned and zoomed together.
import type { Pane } from "../canvas/pane";
import { centre, nearest } from "./places";

/** The camera of a pane. */
export type Look = { x: number; y: number; k: number };

/** Moves a pane by the same amount as another one, so that nothing jumps. */
export function follow(pane: Pane, was: Look, now: Look): void {
  const { x, y, k } = pane.view,
    by = now.k / was.k;
  if (by === 1) pane.view.pan(now.x - was.x, now.y - was.y);
  // a zoom by a factor keeps a point p fixed: x' = p - (p - x) by, so that the remainder is equal for both
  else pane.view.put(x * by + (now.x - was.x * by), y * by + (now.y - was.y * by), k * by);
}

/** Moves a pane so that the box in the middle of another pane has the same place and size, if both panes have it.
 * A hidden pane has no size: then its last size counts. */
export function align(pane: Pane, to: Pane, [w, h] = to.size): void {
  if (!w || !pane.scene || !to.scene) return;
  const [x, y] = to.view.toScene(w / 2, h / 2),
    there = new Set(pane.scene.boxes.map(box => box.name));
  const middle = nearest(
    { x, y, w: 0, h: 0 },
    to.scene.boxes.filter(box => there.has(box.name)),
  );
  const same = middle && pane.scene.boxes.find(box => box.name === middle.name);
  if (!same) return;
  const [px, py] = to.view.toPane(...centre(middle)),
    [sx, sy] = centre(same),
    { k } = to.view;
  pane.view.put(px - sx * k, py - sy * k, k);
}
