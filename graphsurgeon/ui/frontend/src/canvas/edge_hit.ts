// Finds the edge at a point of the picture by its coordinates: an edge has no element.
import { numbers } from "./shapes";
import type { Edge, Scene } from "../model/types.generated";
import type { Point } from "../state/places";

/** The number of lines that approximate a bend. */
const PARTS = 6,
  /** The distance from which an edge reacts to the pointer, px of the picture. */
  REACH = 6,
  sampled = new WeakMap<Scene, Line[]>();

/** Points along a line of a scene, and the rectangle from which it reacts to the pointer. */
interface Line {
  points: Point[];
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** Points along a line of a scene. */
function pointsOf(line: string): Point[] {
  const n = numbers(line),
    found = [n.slice(0, 2) as Point];
  for (let i = 2; i < n.length; i += 6)
    for (let t = 1 / PARTS; t < 1.01; t += 1 / PARTS) {
      const u = 1 - t,
        on = (at: number) => u ** 3 * n[at - 2]! + 3 * u * u * t * n[at]! + 3 * u * t * t * n[at + 2]! + t ** 3 * n[at + 4]!;
      found.push([on(i), on(i + 1)]);
    }
  return found;
}

function sample(line: string): Line {
  const points = pointsOf(line),
    [xs, ys] = [points.map(p => p[0]), points.map(p => p[1])];
  return {
    points,
    left: Math.min(...xs) - REACH,
    right: Math.max(...xs) + REACH,
    top: Math.min(...ys) - REACH,
    bottom: Math.max(...ys) + REACH,
  };
}

function linesOf(scene: Scene): Line[] {
  let lines = sampled.get(scene);
  if (!lines) sampled.set(scene, (lines = scene.lines.map(sample)));
  return lines;
}

/** A point in the middle of an edge. */
export function middleOf(scene: Scene, edge: Edge): Point {
  const all = edge.path.flatMap(i => linesOf(scene)[i]!.points);
  return all[all.length >> 1]!;
}

/** How far a point is from a line; Infinity if it is outside the reach of all edges. */
function distance({ points: all, left, right, top, bottom }: Line, [x, y]: Point): number {
  if (x < left || x > right || y < top || y > bottom) return Infinity;
  let least = Infinity;
  for (let i = 1; i < all.length; i++) {
    const [ax, ay] = all[i - 1]!,
      [bx, by] = [all[i]![0] - ax, all[i]![1] - ay],
      t = Math.max(0, Math.min(1, ((x - ax) * bx + (y - ay) * by) / (bx * bx + by * by || 1)));
    least = Math.min(least, Math.hypot(ax + t * bx - x, ay + t * by - y));
  }
  return least;
}

/** The edge nearest to a point of the picture; null if no edge is near. */
export function edgeAt(scene: Scene, at: Point): Edge | null {
  const far = linesOf(scene).map(line => distance(line, at));
  let best: Edge | null = null,
    least = REACH;
  for (const edge of scene.edges) {
    const own = Math.min(...edge.path.map(i => far[i]!));
    if (own < least) [best, least] = [edge, own];
  }
  return best;
}
