// Computes the coordinates of a scene, like view/layout.py and view/edges.py.
import { SUB, width } from "../model/text";
import type { Box, Direction, Edge, Group, Rect, Scene } from "../model/types";
import { type Engine, Stopped } from "./engine";
import type { PageGraph, Unplaced } from "./graph";
import { draw, size, type Sketch } from "./sketch";

type Point = [number, number];
const MARGIN = 12,
  WIDEST = 4,
  MANY = 120,
  LIMIT = 10_000;
const LADDER = [
  "",
  "straight lines, because curves took too long",
  "straight lines and no scopes, because curves and frames took too long",
];
const SHARE = [0.6, 0.5, 1];
const ALLOWED = /^[\sA-Za-z0-9_.,;={}[\]">-]*$/;
const round = (x: number) => Math.round(x * 10) / 10;

/** Places a scene; if the time runs out, a simpler layout is made, and `stats.degraded` names it. */
export async function place(
  scene: Unplaced,
  graph: PageGraph,
  engine: Engine,
  direction: Direction | "auto",
  rev: string,
  limit = LIMIT,
): Promise<Scene> {
  size(scene);
  const end = performance.now() + limit;
  let failed: unknown = null;
  for (const [step, degraded] of LADDER.entries()) {
    const until = performance.now() + Math.max(50, (end - performance.now()) * SHARE[step]!);
    let best: Scene | null = null;
    try {
      for (const sketch of sketches(direction, step, scene.boxes.length > MANY)) {
        const dot = draw(scene, graph, sketch);
        if (!ALLOWED.test(dot)) throw new Error("a name reached the layout engine");
        const placed = read(
          scene,
          graph,
          sketch,
          JSON.parse(await engine.run(dot, Math.max(50, until - performance.now()))),
          degraded,
          rev,
        );
        if (!best || shape(placed) < shape(best)) best = placed;
        if (shape(best) <= WIDEST) break;
      }
    } catch (error) {
      failed = error;
      if (error instanceof Stopped && !error.late) throw error;
    }
    if (best) return best;
  }
  throw failed;
}

function* sketches(direction: Direction | "auto", step: number, many: boolean): Generator<Sketch> {
  const plain: Sketch = { direction: direction === "auto" ? "TB" : direction, curves: step === 0, clusters: step < 2 };
  yield plain;
  if (step) return;
  if (many) {
    if (direction === "auto") yield { ...plain, direction: "LR" };
    return;
  }
  yield { ...plain, tight: true };
  yield { ...plain, stagger: true };
  if (direction !== "auto") return;
  yield { ...plain, direction: "LR" };
  yield { ...plain, direction: "LR", stagger: true };
}

type Spot = [number, number, number, number];

/** The lines of a frame as rectangles, so that no label covers them. */
function sides(g: Rect): Spot[] {
  const right = g.x + g.w,
    bottom = g.y + g.h;
  return [
    [g.x - 1, g.y, g.x + 1, bottom],
    [right - 1, g.y, right + 1, bottom],
    [g.x, bottom - 1, right, bottom + 1],
  ];
}

function shape(s: Scene): number {
  return Math.max(s.w / s.h, s.h / s.w);
}

function read(scene: Unplaced, graph: PageGraph, sketch: Sketch, found: any, degraded: string, rev: string): Scene {
  const [left, bottom, right, top] = numbers(found.bb) as [number, number, number, number];
  const at = (x: number, y: number): Point => [round(x - left + MARGIN), round(top - y + MARGIN)];
  const boxes: Box[] = scene.boxes.map(b => ({ ...b })),
    groups: Group[] = [],
    order: [number, Group][] = [],
    number = new Map<number, number>(),
    paths = new Map<string, string>();
  for (const thing of found.objects ?? []) {
    const name: string = thing.name;
    if (name.startsWith("cluster_")) {
      const [x0, y0, x1, y1] = numbers(thing.bb) as [number, number, number, number],
        [x, y] = at(x0, y1),
        [xe, ye] = at(x1, y0),
        i = +name.slice(8);
      const { row, depth } = scene.frames[i]!,
        [, , full, label, , count, , , , , state] = graph.row(row);
      order.push([i, { id: `g${i}`, name: full, label, count, depth, state: state ?? "", x, y, w: round(xe - x), h: round(ye - y) }]);
    } else if (/^n\d+$/.test(name)) {
      const i = +name.slice(1),
        box = boxes[i]!,
        [x, y] = at(...(numbers(thing.pos) as Point));
      number.set(thing._gvid, i);
      box.x = round(x - box.w / 2);
      box.y = round(y - box.h / 2);
    }
  }
  groups.push(...order.sort((a, b) => a[0] - b[0]).map(o => o[1]));
  for (const line of found.edges ?? []) if (line.pos) paths.set(`b${number.get(line.tail)} b${number.get(line.head)}`, curve(line.pos, at));
  const byId = new Map(boxes.map(b => [b.id, b]));
  const edges = scene.edges.map(e => ({
    ...e,
    d: (sketch.curves && paths.get(`${e.from} ${e.to}`)) || straight(byId.get(e.from)!, byId.get(e.to)!),
  }));
  const w = round(right - left + 2 * MARGIN),
    h = round(top - bottom + 2 * MARGIN);
  label(boxes, groups, edges, w);
  return { rev, w, h, direction: sketch.direction, boxes, groups, edges, stats: { ...scene.stats, degraded } };
}

function numbers(text: string): number[] {
  return text.split(",").map(Number);
}

function curve(text: string, at: (x: number, y: number) => Point): string {
  const points: Point[] = [];
  let end: Point | null = null,
    start: Point | null = null;
  for (const token of text.split(/\s+/)) {
    if (token.startsWith("e,")) end = at(...(numbers(token.slice(2)) as Point));
    else if (token.startsWith("s,")) start = at(...(numbers(token.slice(2)) as Point));
    else points.push(at(...(numbers(token) as Point)));
  }
  const first = start ?? points[0]!;
  return `M${first}${start ? `L${points[0]}` : ""}C${points.slice(1).join(" ")}${end ? `L${end}` : ""}`;
}

function straight(a: Box, b: Box): string {
  const ax = a.x + a.w / 2,
    ay = a.y + a.h / 2,
    dx = b.x + b.w / 2 - ax,
    dy = b.y + b.h / 2 - ay;
  const border = (r: Rect) => Math.min(dx ? r.w / 2 / Math.abs(dx) : 9e9, dy ? r.h / 2 / Math.abs(dy) : 9e9, 0.5);
  const s = border(a),
    e = 1 - border(b);
  return `M${round(ax + dx * s)},${round(ay + dy * s)}L${round(ax + dx * e)},${round(ay + dy * e)}`;
}

/** Points along path data of the form M L C, six to a piece. */
function samples(d: string): Point[] {
  const out: Point[] = [];
  let at: Point = [0, 0];
  for (const [, command, body] of d.matchAll(/([MLC])([^MLC]*)/g)) {
    const flat = (body!.match(/-?\d+(?:\.\d+)?/g) ?? []).map(Number),
      points: Point[] = [];
    for (let i = 0; i + 1 < flat.length; i += 2) points.push([flat[i]!, flat[i + 1]!]);
    if (command === "M") {
      at = points[0]!;
      out.push(at);
      continue;
    }
    const step = command === "L" ? 1 : 3;
    for (let k = 0; k + step <= points.length; k += step) {
      const [p1, p2, p3] = step === 1 ? [at, points[k]!, points[k]!] : [points[k]!, points[k + 1]!, points[k + 2]!];
      for (let i = 1; i <= 6; i++) {
        const t = i / 6,
          u = 1 - t;
        if (step === 1) out.push([at[0] + (p3[0] - at[0]) * t, at[1] + (p3[1] - at[1]) * t]);
        else out.push([0, 1].map(j => u * u * u * at[j]! + 3 * u * u * t * p1[j]! + 3 * u * t * t * p2[j]! + t * t * t * p3[j]!) as Point);
      }
      at = p3;
    }
  }
  return out;
}

/** Places the labels of edges at free places next to them; a label without a free place is removed. */
function label(boxes: Box[], groups: Group[], edges: Edge[], wide: number): void {
  const taken: Spot[] = [
    ...boxes.map(b => [b.x - 2, b.y - 1, b.x + b.w + 2, b.y + b.h + 1] as Spot),
    ...groups.map(g => [g.x, g.y, g.x + g.w, g.y + 22] as Spot),
    ...groups.flatMap(sides),
  ];
  const paths = new Map(edges.map(e => [e, samples(e.d)])),
    lines = [...paths.values()].flat();
  const first = (e: Edge) => Number(!e.label.startsWith("\u00d7"));
  for (const e of [...edges].sort((a, b) => first(a) - first(b) || (a.id < b.id ? -1 : 1))) {
    const points = paths.get(e)!,
      half = points.length >> 1,
      middle = points[half]!;
    [e.lx, e.ly] = [round(middle[0]), round(middle[1])];
    if (e.quiet) e.label = "";
    if (!e.label) continue;
    const w = width(e.label, SUB) + 2,
      h = SUB + 2,
      order = points
        .map((_, i) => i)
        .slice(1, -1)
        .sort((a, b) => Math.abs(a - half) - Math.abs(b - half));
    const free = order
      .flatMap(i => [1, -1].map(side => [points[i]![0] + side * (w / 2 + 4), points[i]![1]] as Point))
      .find(([x, y]) => {
        const s: Spot = [x - w / 2, y - h / 2, x + w / 2, y + h / 2];
        return (
          s[0] >= 0 &&
          s[2] <= wide &&
          !taken.some(t => s[0] < t[2] && t[0] < s[2] && s[1] < t[3] && t[1] < s[3]) &&
          !lines.some(p => s[0] <= p[0] && p[0] <= s[2] && s[1] <= p[1] && p[1] <= s[3])
        );
      });
    if (!free) {
      e.label = "";
      continue;
    }
    [e.lx, e.ly] = [round(free[0]), round(free[1])];
    taken.push([free[0] - w / 2, free[1] - h / 2, free[0] + w / 2, free[1] + h / 2]);
  }
}
