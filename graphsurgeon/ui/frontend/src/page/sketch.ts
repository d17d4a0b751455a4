// Writes a scene as DOT text of ids and sizes, without any text of the graph.
import { figure } from "../panels/dom";
import { LEADING, SUB, width } from "../model/text";
import type { Direction } from "../model/types";
import type { PageGraph, Unplaced } from "./graph";

export interface Sketch {
  direction: Direction;
  curves: boolean;
  clusters: boolean;
  stagger?: boolean;
  tight?: boolean;
}

const PAD = 12,
  HEIGHT = 40,
  HEADING = 12;

/** Sets the width of each box from its texts. */
export function size(scene: Unplaced): void {
  for (const box of scene.boxes) {
    const hidden = Object.values(box.hidden).reduce((a, b) => a + b, 0);
    const second = width(box.sub, SUB) + (hidden ? width(`${figure(hidden)} hidden`, SUB) + 10 : 0);
    box.w = Math.max(box.w, Math.ceil(second + 2 * PAD));
    box.h = HEIGHT + LEADING * ((box.lines?.length ?? 1) - 1);
  }
}

export function draw(scene: Unplaced, graph: PageGraph, sketch: Sketch): string {
  const down = sketch.direction === "TB";
  let beside = down ? 0.28 : 0.2,
    between = down ? 0.36 : 0.5;
  if (sketch.tight) {
    beside *= 1.6;
    between *= 0.55;
  }
  const out = [
    `digraph g { graph [rankdir=${sketch.direction} nodesep=${beside.toFixed(3)} ranksep=${between.toFixed(3)} nslimit=2 nslimit1=2 splines=${sketch.curves ? "spline" : "none"}];`,
    'node [shape=box fixedsize=true label=""]; edge [arrowsize=0.6];',
  ];
  const inside = new Map<number, number[]>(),
    frames = new Map<number, number[]>();
  const put = (map: Map<number, number[]>, key: number, value: number) => {
    map.get(key)?.push(value) ?? map.set(key, [value]);
  };
  scene.boxes.forEach((_, i) => put(inside, sketch.clusters ? scene.groupOf[i]! : -1, i));
  if (sketch.clusters) scene.frames.forEach((f, i) => put(frames, f.group, i));
  const stack: [boolean, number][] = [[true, -1]];
  while (stack.length) {
    const [open, g] = stack.pop()!;
    if (!open) {
      out.push("}");
      continue;
    }
    if (g >= 0) {
      const label = graph.row(scene.frames[g]!.row)[3];
      const characters = Math.max(1, Math.ceil((width(label, HEADING, true) + 34) / (0.6 * HEADING)));
      out.push(`subgraph cluster_${g} { graph [label="${"M".repeat(characters)}" fontname=Courier fontsize=12 labeljust=l margin=10];`);
      stack.push([false, g]);
    }
    for (const i of inside.get(g) ?? [])
      out.push(`n${i} [width=${(scene.boxes[i]!.w / 72).toFixed(4)} height=${(scene.boxes[i]!.h / 72).toFixed(4)}];`);
    for (const f of [...(frames.get(g) ?? [])].reverse()) stack.push([true, f]);
  }
  edges(scene, sketch, inside, out);
  out.push("}");
  return out.join("\n");
}

function edges(scene: Unplaced, sketch: Sketch, inside: Map<number, number[]>, out: string[]): void {
  const pairs = scene.edges.map(e => [+e.from.slice(1), +e.to.slice(1)] as [number, number]),
    steps = sketch.stagger ? stagger(pairs, scene.boxes.length) : new Map<string, number>();
  pairs.forEach(([a, b], i) => {
    const e = scene.edges[i]!,
      far = steps.get(`${a} ${b}`);
    out.push(`n${a} -> n${b} [${e.control || e.quiet ? "weight=0" : "weight=2"}${far ? ` minlen=${far}` : ""}];`);
  });
  const touched = new Set(pairs.flat());
  for (const members of inside.values())
    grid(
      scene,
      members.filter(i => !touched.has(i)),
      sketch.direction,
      out,
    );
}

/** Arranges boxes without edges in rows and columns, by edges that are not drawn. */
function grid(scene: Unplaced, lone: number[], direction: Direction, out: string[]): void {
  if (lone.length < 3) return;
  const wide = lone.reduce((sum, i) => sum + scene.boxes[i]!.w, 0) / lone.length + 20;
  let columns = Math.max(1, Math.round(Math.sqrt((1.8 * lone.length * (HEIGHT + 26)) / wide)));
  if (direction === "LR") columns = Math.ceil(lone.length / columns);
  for (let i = 0; i + columns < lone.length; i++) out.push(`n${lone[i]} -> n${lone[i + columns]} [style=invis weight=1];`);
}

/** A length for the edges to boxes with one neighbor, if a box has many of them. */
function stagger(pairs: [number, number][], n: number): Map<string, number> {
  const degree = new Array<number>(n).fill(0),
    leaves = new Map<string, string[]>(),
    out = new Map<string, number>();
  for (const [a, b] of pairs) {
    degree[a]!++;
    degree[b]!++;
  }
  for (const [a, b] of pairs) {
    const key = degree[b] === 1 ? `${a} down` : degree[a] === 1 ? `${b} up` : "";
    if (key) leaves.get(key)?.push(`${a} ${b}`) ?? leaves.set(key, [`${a} ${b}`]);
  }
  for (const found of leaves.values()) {
    const levels = Math.max(1, Math.round(Math.sqrt(found.length / 1.5)));
    found.forEach((edge, i) => out.set(edge, 1 + (i % levels)));
  }
  return out;
}
