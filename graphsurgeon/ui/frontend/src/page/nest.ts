// The picture of a set of open folds: the layouts of their contents, which Python has computed, inside each other.
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
  lines: [from: number, to: number, points: number[], lx?: number, ly?: number][];
  /** The numbers of hidden ops, by kind. */ hidden: Record<string, number>;
}

/** The rows of both ends, the number of tensors, and the first tensors. */
type Between = [from: number, to: number, n: number, ...tensors: number[]];

export interface Nesting {
  rows: LayoutRow[];
  inside: Record<number, Inside>;
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

export class TooMany extends Error {
  constructor(readonly count: number) {
    super(`${count} boxes`);
  }
}

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
  readonly lines: Map<string, Inside["lines"][number]>;
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
    this.lines = new Map(of.lines.map(line => [`${line[0]} ${line[1]}`, line]));
  }

  get size(): Point {
    return [this.across(this.of.size[0]), this.down(this.of.size[1])];
  }
  toPicture([x, y]: Point): Point {
    return [this.x + this.across(x), this.y + this.down(y)];
  }
}

/** Returns the picture; throws TooMany if it has too many boxes. */
export function picture(data: Nesting, open: ReadonlySet<number>): Scene {
  return new Picture(data, open).scene();
}

class Picture {
  readonly #frames = new Map<number, Frame>();
  readonly #rects = new Map<number, Rect>();
  readonly #boxes: Box[] = [];
  readonly #groups: Group[] = [];
  readonly #ids = new Map<number, string>();
  readonly #lines: string[] = [];

  readonly #data: Nesting;
  readonly #open: ReadonlySet<number>;

  constructor(data: Nesting, open: ReadonlySet<number>) {
    this.#data = data;
    this.#open = open;
    const shown = (row: number): number => (open.has(row) || row < 0 ? data.inside[row]!.rects.reduce((n, r) => n + shown(r[0]), 0) : 1),
      count = shown(-1);
    if (count > data.limits.boxes) throw new TooMany(count);
    this.#measure(-1);
    this.#layOut(-1, 0, 0, -1);
  }

  scene(): Scene {
    const [w, h] = this.#frames.get(-1)!.size.map(round) as Point,
      edges = this.#edges(),
      lines = this.#lines,
      { ops, direction } = this.#data,
      hidden: Record<string, number> = {};
    for (const { of } of this.#frames.values()) for (const [kind, n] of Object.entries(of.hidden)) hidden[kind] = (hidden[kind] ?? 0) + n;
    return {
      rev: [...this.#open].sort().join(),
      w,
      h,
      direction,
      boxes: this.#boxes,
      groups: this.#groups,
      edges,
      lines,
      stats: { ops, boxes: this.#boxes.length, edges: edges.length, hidden, degraded: "" },
    };
  }

  /** Finds the size of an open fold, the innermost first. */
  #measure(row: number): Point {
    const of = this.#data.inside[row]!,
      sizes = of.rects.map(([child]): Point => {
        const { w, h } = this.#data.rows[child]!;
        return this.#open.has(child) ? this.#measure(child) : [w, h];
      }),
      frame = new Frame(of, sizes);
    this.#frames.set(row, frame);
    return frame.size;
  }

  /** Places the contents of an open fold, whose corner is at (x, y). */
  #layOut(row: number, x: number, y: number, depth: number): void {
    const frame = this.#frames.get(row)!,
      lr = this.#data.direction === "LR";
    [frame.x, frame.y] = [x, y];
    for (const [i, [child, left, top, wide, high]] of frame.of.rects.entries()) {
      const [w, h] = frame.sizes[i]!,
        [x0, y0] = frame.toPicture([left, top]),
        [x1, y1] = frame.toPicture([left + wide, top + high]),
        place = { x: round(lr ? x0 : (x0 + x1 - w) / 2), y: round(lr ? (y0 + y1 - h) / 2 : y0), w: round(w), h: round(h) },
        inner = this.#frames.get(child),
        box = this.#data.rows[child]!,
        id = `${inner ? "g" : "b"}${child}`;
      this.#rects.set(child, place);
      if (inner) {
        this.#groups.push({ id, name: box.name, label: inner.of.label, count: box.count, depth: depth + 1, state: box.state, ...place });
        this.#layOut(child, place.x, place.y, depth + 1);
      } else {
        this.#ids.set(child, id);
        this.#boxes.push({ ...box, ...place, id });
      }
    }
  }

  #edges(): Edge[] {
    const { edges, controls, limits, rows } = this.#data,
      there = ([from, to]: Between) => this.#ids.has(from) && this.#ids.has(to),
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
        control = few.includes(edge),
        [tensor, text] = this.#data.tensors[first!]!,
        quiet = [from, to].some(row => crowd.get(row)! >= rows[row]!.hub),
        { d, at } = this.#route(from, to),
        label = n > 1 ? `\u00d7${n}` : text.includes("(") ? text : "";
      this.#lines.push(d);
      return {
        from: this.#ids.get(from)!,
        to: this.#ids.get(to)!,
        path: [i],
        count: n,
        control,
        quiet,
        label: at && !quiet ? label : "",
        label_x: at?.[0] ?? 0,
        label_y: at?.[1] ?? 0,
        tensor,
      };
    });
  }

  /** The frames around a row, outermost first, and the row. */
  #path(row: number): number[] {
    const path = [];
    for (let at = row; at >= 0; at = this.#data.rows[at]!.parent) path.unshift(at);
    return path;
  }

  /** The path of an edge: out of the frames around its first end, across, and into the frames around the other end. */
  #route(from: number, to: number): { d: string; at: Point | null } {
    const up = this.#path(from),
      down = this.#path(to),
      same = up.findIndex((row, i) => row !== down[i]),
      [a, b] = [up[same]!, down[same]!];
    const pieces = [
      ...up.slice(same, -1).map((frame, i) => this.#piece(frame, up[same + i + 1]!, b)),
      this.#piece(up[same - 1] ?? -1, a, b),
      ...down.slice(same, -1).map((frame, i) => this.#piece(frame, a, down[same + i + 1]!)),
    ];
    const middle = up.length - 1 - same,
      out = pieces.slice(0, middle).reverse();
    pieces.splice(0, middle, ...out);
    if (pieces.some(piece => !piece)) return { d: this.#straight(from, to), at: null };
    const lines = pieces as Piece[],
      // lines inside a frame end where they cross its border; a line between frames moves to these places
      borders = [
        this.#extended(lines[0]!, from, 0),
        ...lines.slice(0, middle).map(piece => piece.points.at(-1)!),
        ...lines.slice(middle + 1).map(piece => piece.points[0]!),
        this.#extended(lines.at(-1)!, to, -1),
      ];
    const joined = lines.flatMap(({ points }, i) => bent(points, borders[i]!, borders[i + 1]!).slice(i ? 1 : 0)),
      [start, ...rest] = joined.map(([x, y]) => `${round(x)},${round(y)}`),
      { label } = lines[middle]!;
    return { d: `${start}C${rest.join(" ")}`, at: lines.length === 1 && label ? (label.map(round) as Point) : null };
  }

  #piece(frame: number, from: number, to: number): Piece | null {
    const of = this.#frames.get(frame)!,
      line = of.lines.get(`${from} ${to}`);
    if (!line || line[2].length < 8) return null;
    const [, , flat, lx, ly] = line,
      points: Point[] = [];
    for (let i = 0; i < flat.length; i += 2) points.push(of.toPicture([flat[i]!, flat[i + 1]!]));
    return {
      frame: of,
      ends: [flat.slice(0, 2) as Point, flat.slice(-2) as Point],
      points,
      label: lx === undefined ? null : of.toPicture([lx, ly!]),
    };
  }

  /** The end of a line at a box: at the same share of its border as in the layout of Python. */
  #extended(piece: Piece, row: number, end: 0 | -1): Point {
    const [x, y] = piece.ends.at(end)!,
      [, left, top, wide, high] = piece.frame.of.rects.find(rect => rect[0] === row)!,
      place = this.#rects.get(row)!;
    return [place.x + ((x - left) / wide) * place.w, place.y + ((y - top) / high) * place.h];
  }

  #straight(from: number, to: number): string {
    const [a, b] = [this.#rects.get(from)!, this.#rects.get(to)!],
      lr = this.#data.direction === "LR",
      [x0, y0, x1, y1] = lr ? [a.x + a.w, a.y + a.h / 2, b.x, b.y + b.h / 2] : [a.x + a.w / 2, a.y + a.h, b.x + b.w / 2, b.y];
    const share = (t: number) => `${round(x0 + (x1 - x0) * t)},${round(y0 + (y1 - y0) * t)}`;
    return `${share(0)}C${share(1 / 3)} ${share(2 / 3)} ${share(1)}`;
  }
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
