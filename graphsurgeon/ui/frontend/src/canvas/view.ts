// Pan and zoom of a pane. Nothing here sends a message.
import { around, centre, nearest, overlap, type Point } from "../state/places";
import type { Rect, Scene } from "../model/types.generated";

export const LEAST = 0.1,
  MOST = 3,
  FIRST_LEAST = 0.65;
const MARGIN = 20;

const wholePicture = (scene: Scene): Rect => ({ x: 0, y: 0, w: scene.w, h: scene.h });

/** The width and the height of a pane. */
export type Size = readonly [width: number, height: number];

/** The position and the scale of a picture in its pane. */
export interface Transform {
  x: number;
  y: number;
  k: number;
}

export class View {
  x = 0;
  y = 0;
  k = 1;

  constructor(private readonly onChange: () => void) {}

  /** The first look: in the middle, so large that it fits across, between 65 % and full size. A picture that would be smaller is shown
   * at full size, from its edge, or that of the largest scope, from which its beginning is in sight. */
  first(scene: Scene, size: Size): void {
    const [width, height] = size,
      edges = wholePicture(scene),
      all = around([...scene.boxes, ...scene.groups]) ?? edges,
      along = scene.direction === "LR",
      fits = (r: Rect) => Math.min(1, along ? (height - MARGIN) / r.h : (width - MARGIN) / r.w),
      // edges may extend far to one side: they are only included if the boxes stay readable
      held = fits(edges) < FIRST_LEAST ? all : edges,
      k = fits(held);
    this.#centre(all, along, size, k < FIRST_LEAST ? 1 : k);
    const [x, y] = this.toPane(held.x, held.y),
      slide = (at: number, size: number, room: number) => Math.max(MARGIN / 2, Math.min(room - MARGIN / 2 - size * k, at)) - at;
    if (k >= FIRST_LEAST) this.pan(along ? 0 : slide(x, held.w, width), along ? slide(y, held.h, height) : 0);
    const depth = (r: Rect) => centre(r)[along ? 0 : 1],
      least = Math.min(...scene.boxes.map(depth)),
      corner = (r: Rect) => ({ ...r, w: 0, h: 0 });
    const start = nearest(
      corner(all),
      scene.boxes.filter(box => depth(box) < least + 1),
    );
    if (!start || k >= FIRST_LEAST) return;
    const from = [all, ...scene.groups.filter(g => overlap(g, start))]
      .map(r => around([corner(r), start])!)
      .sort((a, b) => b.w + b.h - a.w - a.h)
      .find(r => Math.max(r.w - width, r.h - height) <= -2 * MARGIN);
    this.show(from ?? start, size);
  }

  /** Whether a part of `r` is visible. */
  sees(r: Rect, [width, height]: Size): boolean {
    const [x, y] = this.toPane(r.x, r.y);
    return x < width && y < height && x + r.w * this.k > 0 && y + r.h * this.k > 0;
  }

  /** Whether all of `r` is visible. */
  contains(r: Rect, [width, height]: Size): boolean {
    const [x, y] = this.toPane(r.x, r.y);
    return x >= 0 && y >= 0 && x + r.w * this.k <= width && y + r.h * this.k <= height;
  }

  /** Whether `r` has space in a pane, with a margin. */
  fits(r: Rect, size: Size): boolean {
    return fitting(r, size) >= this.k;
  }

  /** The whole scene in the pane. */
  fit(scene: Scene, size: Size): void {
    this.#centre(wholePicture(scene), scene.direction === "LR", size, Math.max(LEAST, Math.min(1, fitting(scene, size))));
  }

  #centre(r: Rect, along: boolean, [width, height]: Size, k: number): void {
    const w = r.w * k,
      hh = r.h * k;
    this.k = k;
    this.x = (along && w > width ? MARGIN : (width - w) / 2) - r.x * k;
    this.y = (!along && hh > height ? MARGIN : (height - hh) / 2) - r.y * k;
    this.onChange();
  }

  /** Moves `r` sideways if there is unneeded space at one side: to the middle, or to the edge; returns whether
   * it had to. */
  fill(r: Rect, width: number): boolean {
    const [x] = this.toPane(r.x, r.y),
      w = r.w * this.k,
      to = w + 2 * MARGIN <= width ? (width - w) / 2 : Math.max(width - w - MARGIN, Math.min(MARGIN, x));
    if (Math.abs(to - x) < width / 8) return false;
    this.pan(to - x, 0);
    return true;
  }

  /** Sets the camera. */
  moveTo(x: number, y: number, k: number): void {
    this.k = Math.max(LEAST, Math.min(MOST, k));
    this.x = x;
    this.y = y;
    this.onChange();
  }

  pan(dx: number, dy: number): void {
    this.x += dx;
    this.y += dy;
    this.onChange();
  }

  /** Zooms by a factor around a point of the pane, which does not move. */
  zoom(factor: number, px: number, py: number): void {
    const k = Math.max(LEAST, Math.min(MOST, this.k * factor));
    this.x = px - ((px - this.x) / this.k) * k;
    this.y = py - ((py - this.y) / this.k) * k;
    this.k = k;
    this.onChange();
  }

  /** Pans as little as needed to show all of `r`, or its top left corner if it is too large. */
  show(r: Rect, [width, height]: Size): void {
    const [x, y] = this.toPane(r.x, r.y),
      w = r.w * this.k,
      hh = r.h * this.k;
    const shift = (at: number, size: number, room: number) =>
      at < MARGIN ? MARGIN - at : at + size > room - MARGIN ? Math.max(MARGIN - at, room - MARGIN - at - size) : 0;
    const dx = shift(x, w, width),
      dy = shift(y, hh, height);
    if (dx || dy) this.pan(dx, dy);
  }

  /** Pans `r` into the middle, unless it is visible; if it is too large, does the same as `show`. */
  centre(r: Rect, size: Size): void {
    if (this.contains(r, size)) return;
    this.show(r, size);
    if (!this.contains(r, size)) return;
    const [width, height] = size,
      [x, y] = this.toPane(r.x + r.w / 2, r.y + r.h / 2);
    this.pan(width / 2 - x, height / 2 - y);
  }

  toPane(x: number, y: number): Point {
    return [x * this.k + this.x, y * this.k + this.y];
  }

  toScene(px: number, py: number): Point {
    return [(px - this.x) / this.k, (py - this.y) / this.k];
  }
}

function fitting(scene: { w: number; h: number }, [width, height]: Size): number {
  return Math.min((width - 2 * MARGIN) / scene.w, (height - 2 * MARGIN) / scene.h);
}
