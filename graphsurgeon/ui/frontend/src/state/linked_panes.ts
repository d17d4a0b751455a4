// Links the panes before and after the plan, which are panned and zoomed together.
import type { Pane } from "../canvas/pane";
import type { Transform } from "../canvas/view";
import { centre, nearest } from "./places";

/** Moves a pane by the same amount as another one, so that nothing jumps. */
export function follow(pane: Pane, before: Transform, now: Transform): void {
  const { x, y, k } = pane.view,
    by = now.k / before.k;
  if (by === 1) pane.view.pan(now.x - before.x, now.y - before.y);
  // a zoom by a factor keeps a point p fixed: x' = p - (p - x) by, so that the remainder is equal for both
  else pane.view.moveTo(x * by + (now.x - before.x * by), y * by + (now.y - before.y * by), k * by);
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
  pane.view.moveTo(px - sx * k, py - sy * k, k);
}
