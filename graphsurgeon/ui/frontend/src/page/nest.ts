// The picture of a set of open folds: the layouts of their contents, which Python has computed, inside each other.
import { CommandError } from "../model/api";
import type { Box, Direction, Edge, Group, Rect, Scene } from "../model/types.generated";
import type { Point } from "../state/places";

/** A box of any level. */
export interface LayoutRow extends Omit<Box, "x" | "y"> {
  /** The row of the frame around it; -1 for the picture. */ parent: number;
  /** The number of edges from which its edges are quiet. */ hub: number;
}

/** The contents of an open fold as Python has laid them out, relative to its frame. */
export interface Inside {
  size: [number, number];
  label: string;
  /** The width of the heading. */ heading: number;
  rects: [row: number, x: number, y: number, w: number, h: number][];
  /** Lines between rows, with the center of the label if there is one. A line to a row outside ends at the border. */
  lines: [from: number, to: number, path: number, lx?: number, ly?: number][];
  /** The numbers of hidden ops, by kind. */ hidden: Record<string, number>;
}

/** The rows of both ends, the number of tensors, and the first tensors. */
type Between = [from: number, to: number, n: number, ...tensors: number[]];

export interface Nesting {
  rows: LayoutRow[];
  inside: Record<number, Inside>;
  /** The coordinates of lines. */ paths: number[][];
  direction: Direction;
  ops: number;
  /** The maximum number of boxes, and of control edges at a box. */ limits: { boxes: number; controls: number };
  tensors: [name: string, text: string][];
  edges: Between[];
  controls: Between[];
}

type Move = (at: number) => number;

/** The space that remains between things around which a frame was closed, px. */
const GAP = 20;

const round = (x: number) => Math.round(x * 10) / 10;

/** Moves coordinates along one axis so that each span gets its new size; the order of the coordinates stays.
 * `end` is the end of the frame, which has at least the size `least`. */
export function stretch(spans: [from: number, to: number, size: number][], end: number, least = 0): Move {
  const stops = [...new Set([0, end, ...spans.flatMap(([from, to]) => [from, to])])].sort((a, b) => a - b),
    moved = new Map<number, number>();
  let last = stops[0]!,
    at = last;
  for (const stop of stops) {
    const closed = spans.some(([from, to, size]) => from <= last && stop <= to && size < to - from);
    at += closed ? Math.min(GAP, stop - last) : stop - last;
    for (const [from, to, size] of spans) if (to === stop && moved.has(from)) at = Math.max(at, moved.get(from)! + size);
    if (stop === end) at = Math.max(at, least);
    moved.set((last = stop), at);
  }
  return x => {
    const next = Math.max(
        1,
        stops.findIndex(stop => stop > x),
      ),
      [from, to] = x >= last ? [last, last + 1] : [stops[next - 1]!, stops[next]!],
      start = moved.get(from)!;
    return start + ((x - from) * ((moved.get(to) ?? start + 1) - start)) / (to - from);
  };
}

/** A frame in the picture. */
class Frame {
  x = 0;
  y = 0;
  readonly across: Move;
  readonly down: Move;

  constructor(
    readonly of: Inside,
    /** The sizes of the boxes and frames in it. */ readonly sizes: Point[],
  ) {
    const { rects, size, heading } = of;
    this.across = stretch(
      rects.map(([, x, , w], i) => [x, x + w, sizes[i]![0]]),
      size[0],
      heading,
    );
    this.down = stretch(
      rects.map(([, , y, , h], i) => [y, y + h, sizes[i]![1]]),
      size[1],
    );
  }

  get size(): Point {
    return [this.across(this.of.size[0]), this.down(this.of.size[1])];
  }
  toPicture([x, y]: Point): Point {
    return [this.x + this.across(x), this.y + this.down(y)];
  }
}

/** Returns the picture; refuses one with too many boxes. */
export function picture(
  { rows, inside, paths, direction, ops, limits, tensors, edges, controls }: Nesting,
  open: ReadonlySet<number>,
): Scene {
  const frames = new Map<number, Frame>(),
    rects = new Map<number, Rect>(),
    boxes: Box[] = [],
    groups: Group[] = [],
    ids = new Map<number, string>(),
    lines: string[] = [],
    hidden: Record<string, number> = {},
    lr = direction === "LR";

  const shown = (row: number): number => (open.has(row) || row < 0 ? inside[row]!.rects.reduce((n, r) => n + shown(r[0]), 0) : 1),
    total = shown(-1);
  if (total > limits.boxes) {
    const problem = `the picture would have ${total} boxes, and the limit is ${limits.boxes}`;
    throw new CommandError({ request: "unfolding", problem, suggestion: "Fold something first" });
  }

  /** Finds the size of an open fold, the innermost first. */
  function measure(row: number): Point {
    const of = inside[row]!,
      sizes = of.rects.map(([child]): Point => {
        const { w, h } = rows[child]!;
        return open.has(child) ? measure(child) : [w, h];
      }),
      frame = new Frame(of, sizes);
    frames.set(row, frame);
    return frame.size;
  }

  /** Places the contents of an open fold, whose corner is at (x, y). */
  function layOut(row: number, x: number, y: number, depth: number): void {
    const frame = frames.get(row)!;
    [frame.x, frame.y] = [x, y];
    for (const [kind, n] of Object.entries(frame.of.hidden)) hidden[kind] = (hidden[kind] ?? 0) + n;
    for (const [i, [child, left, top, wide, high]] of frame.of.rects.entries()) {
      const [w, h] = frame.sizes[i]!,
        [x0, y0] = frame.toPicture([left, top]),
        [x1, y1] = frame.toPicture([left + wide, top + high]),
        place = { x: round(lr ? x0 : (x0 + x1 - w) / 2), y: round(lr ? (y0 + y1 - h) / 2 : y0), w: round(w), h: round(h) },
        inner = frames.get(child),
        box = rows[child]!,
        id = `${inner ? "g" : "b"}${child}`;
      rects.set(child, place);
      if (inner) {
        groups.push({ id, name: box.name, label: inner.of.label, count: box.count, depth, state: box.state, ...place });
        layOut(child, place.x, place.y, depth + 1);
      } else {
        ids.set(child, id);
        boxes.push({ ...box, ...place, id });
      }
    }
  }

  function edgesOf(): Edge[] {
    const there = ([from, to]: Between) => ids.has(from) && ids.has(to),
      waits = new Map<number, number>(),
      crowd = new Map<number, number>(),
      add = (map: Map<number, number>, [from, to]: Between) => {
        for (const row of [from, to]) map.set(row, (map.get(row) ?? 0) + 1);
      };
    const few = controls.filter(edge => {
      const fits = there(edge) && [edge[0], edge[1]].every(row => (waits.get(row) ?? 0) < limits.controls);
      if (fits) add(waits, edge);
      return fits;
    });
    const drawn = [...edges.filter(there), ...few];
    for (const edge of drawn) add(crowd, edge);
    return drawn.map((edge, i) => {
      const [from, to, n, first] = edge,
        [tensor, text] = tensors[first!]!,
        quiet = [from, to].some(row => crowd.get(row)! >= rows[row]!.hub),
        { d, at } = route(from, to),
        label = n > 1 ? `\u00d7${n}` : text.includes("(") ? text : "";
      lines.push(d);
      return {
        from: ids.get(from)!,
        to: ids.get(to)!,
        path: [i],
        count: n,
        control: few.includes(edge),
        quiet,
        label: at && !quiet ? label : "",
        label_x: at?.[0] ?? 0,
        label_y: at?.[1] ?? 0,
        tensor,
      };
    });
  }

  /** The frames around a row, outermost first, and the row. */
  function pathOf(row: number): number[] {
    const path = [];
    for (let at = row; at >= 0; at = rows[at]!.parent) path.unshift(at);
    return path;
  }

  /** The path of an edge: out of the frames around its first end, across, and into the frames around the other end. */
  function route(from: number, to: number): { d: string; at: Point | null } {
    const up = pathOf(from),
      down = pathOf(to),
      same = up.findIndex((row, i) => row !== down[i]),
      [a, b] = [up[same]!, down[same]!];
    const pieces = [
      ...up.slice(same, -1).map((frame, i) => pieceOf(frame, up[same + i + 1]!, b)),
      pieceOf(up[same - 1] ?? -1, a, b),
      ...down.slice(same, -1).map((frame, i) => pieceOf(frame, a, down[same + i + 1]!)),
    ];
    const middle = up.length - 1 - same,
      out = pieces.slice(0, middle).reverse();
    pieces.splice(0, middle, ...out);
    if (pieces.some(piece => !piece)) return { d: straight(rects.get(from)!, rects.get(to)!, lr), at: null };
    const parts = pieces as Piece[],
      // lines inside a frame end where they cross its border; a line between frames moves to these places
      borders = [
        extended(parts[0]!, from, 0),
        ...parts.slice(0, middle).map(piece => piece.points.at(-1)!),
        ...parts.slice(middle + 1).map(piece => piece.points[0]!),
        extended(parts.at(-1)!, to, -1),
      ];
    const joined = parts.flatMap(({ points }, i) => bent(points, borders[i]!, borders[i + 1]!).slice(i ? 1 : 0)),
      [start, ...rest] = joined.map(([x, y]) => `${round(x)},${round(y)}`),
      { label } = parts[middle]!;
    return { d: `${start}C${rest.join(" ")}`, at: parts.length === 1 && label ? (label.map(round) as Point) : null };
  }

  function pieceOf(row: number, from: number, to: number): Piece | null {
    const frame = frames.get(row)!,
      [, , path, lx, ly] = frame.of.lines.find(line => line[0] === from && line[1] === to) ?? [],
      flat = paths[path ?? -1] ?? [],
      points: Point[] = [];
    if (flat.length < 8) return null;
    for (let i = 0; i < flat.length; i += 2) points.push(frame.toPicture([flat[i]!, flat[i + 1]!]));
    return {
      frame,
      ends: [flat.slice(0, 2) as Point, flat.slice(-2) as Point],
      points,
      label: lx === undefined ? null : frame.toPicture([lx, ly!]),
    };
  }

  /** The end of a line at a box: at the same share of its border as in the layout of Python. */
  function extended(piece: Piece, row: number, end: 0 | -1): Point {
    const [x, y] = piece.ends.at(end)!,
      [, left, top, wide, high] = piece.frame.of.rects.find(rect => rect[0] === row)!,
      place = rects.get(row)!;
    return [place.x + ((x - left) / wide) * place.w, place.y + ((y - top) / high) * place.h];
  }

  const [w, h] = measure(-1).map(round) as Point;
  layOut(-1, 0, 0, 0);
  const drawn = edgesOf(),
    stats = { ops, boxes: boxes.length, edges: drawn.length, hidden, degraded: "" };
  return { rev: [...open].sort().join(), w, h, direction, boxes, groups, edges: drawn, lines, stats };
}

/** A line from box to box, in the reading direction. */
function straight(a: Rect, b: Rect, lr: boolean): string {
  const [x0, y0, x1, y1] = lr ? [a.x + a.w, a.y + a.h / 2, b.x, b.y + b.h / 2] : [a.x + a.w / 2, a.y + a.h, b.x + b.w / 2, b.y];
  const share = (t: number) => `${round(x0 + (x1 - x0) * t)},${round(y0 + (y1 - y0) * t)}`;
  return `${share(0)}C${share(1 / 3)} ${share(2 / 3)} ${share(1)}`;
}

interface Piece {
  frame: Frame;
  /** Its ends in the layout of Python. */ ends: [Point, Point];
  points: Point[];
  label: Point | null;
}

/** A path with other ends; the directions at its ends stay. */
function bent(points: Point[], start: Point, end: Point): Point[] {
  const by = (from: Point, to: Point) => [to[0] - from[0], to[1] - from[1]] as Point,
    [first, last] = [by(points[0]!, start), by(points.at(-1)!, end)];
  return points.map(([x, y], i): Point => {
    const [dx, dy] = i < 2 ? first : i > points.length - 3 ? last : [0, 0];
    return [x + dx, y + dy];
  });
}
