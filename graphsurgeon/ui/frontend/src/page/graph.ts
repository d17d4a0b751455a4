// The graph in a page: the boxes and edges of a picture for a set of open folds. It follows view/scene.py and view/scene.py.
import { counted } from "../panels/dom";
import { broken } from "../model/text";
import type { Box, Edge, Scene } from "../model/types";

/** parent, kind, name, label, second line, ops inside, family, outputs, width, flags (1 sheets, 2 series, 4 opens), state. */
export type PackedRow = [number, Box["kind"], string, string, string, number, string, number, number, number, Box["state"]?];

export interface Packed {
  ops: number;
  rows: PackedRow[];
  helpers: [number, number, number][];
  families: Record<string, string>;
  kinds: string[];
  shut: number;
  tensors: [number, string, string][];
  reads: [number, number][];
  controls: [number, string][];
  waits: [number, number][];
}

export interface Unplaced {
  boxes: Box[];
  frames: { row: number; depth: number; group: number }[];
  groupOf: number[];
  edges: Edge[];
  rowOfBox: number[];
  stats: Scene["stats"];
}

export const MOST = 400;
const CONTROL_MOST = 4,
  HUB = 4,
  CROSSROADS = 10,
  TENSORS = 8;
const BEHIND = 1,
  OPENS = 4;

export class TooMany extends Error {
  constructor(
    readonly count: number,
    readonly name: string,
  ) {
    super(`${count} boxes`);
  }
}

export class PageGraph {
  readonly children: number[][] = [];
  readonly roots: number[] = [];
  readonly byName = new Map<string, number>();

  constructor(readonly packed: Packed) {
    packed.rows.forEach((row, i) => {
      this.children.push([]);
      (row[0] < 0 ? this.roots : this.children[row[0]]!).push(i);
      if (!this.byName.has(row[2])) this.byName.set(row[2], i);
    });
  }

  row(i: number): PackedRow {
    return this.packed.rows[i]!;
  }
  opens(i: number): boolean {
    return (this.row(i)[9] & OPENS) !== 0;
  }

  /** The folds around a row, outermost first. */
  above(i: number): number[] {
    const out: number[] = [];
    for (let at = this.row(i)[0]; at >= 0; at = this.row(at)[0]) out.unshift(at);
    return out;
  }

  /** Finds the boxes, frames and edges; throws TooMany past 400 boxes. */
  build(open: ReadonlySet<number>): Unplaced {
    const boxes: Box[] = [],
      frames: Unplaced["frames"] = [],
      groupOf: number[] = [],
      rowOfBox: number[] = [];
    const at = new Int32Array(this.packed.rows.length).fill(-1);
    const stack: [number, number][] = [...this.roots].reverse().map(i => [i, -1]);
    let total = stack.length;
    while (stack.length) {
      const [i, group] = stack.pop()!;
      const [, kind, name, label, sub, count, family, outputs, w, , state] = this.row(i);
      if (open.has(i) && this.opens(i)) {
        total += this.children[i]!.length - 1;
        if (total > MOST) throw new TooMany(total, name);
        frames.push({ row: i, depth: group >= 0 ? frames[group]!.depth + 1 : 0, group });
        for (const child of [...this.children[i]!].reverse()) stack.push([child, frames.length - 1]);
      } else {
        at[i] = boxes.length;
        groupOf.push(group);
        rowOfBox.push(i);
        const lines = broken(label);
        boxes.push({
          id: `b${boxes.length}`,
          kind,
          name,
          label,
          sub,
          count,
          family,
          outputs,
          state: state ?? "",
          hidden: {},
          detail: "",
          x: 0,
          y: 0,
          w,
          h: 40,
          ...(lines.length > 1 && { lines }),
        });
      }
    }
    // parents come before their children: the contents of a folded box have the place of the box
    this.packed.rows.forEach((row, i) => {
      if (at[i]! < 0 && row[0] >= 0 && !(open.has(row[0]) && this.opens(row[0]))) at[i] = at[row[0]]!;
    });
    const shut = (fold: number) => fold >= 0 && !(open.has(fold) && this.opens(fold));
    const place = (row: number) => {
      if (row >= 0) return at[row]!;
      const fold = this.packed.helpers[-1 - row]![0];
      return shut(fold) ? at[fold]! : -1;
    };
    const totals = this.#countHidden(boxes, place, shut);
    const edges = this.#wires(boxes, place);
    const hidden = this.#controls(boxes, place, edges);
    this.#hush(boxes, rowOfBox, edges);
    if (hidden) totals["control edges"] = hidden;
    for (const box of boxes) box.detail = detail(box);
    return {
      boxes,
      frames,
      groupOf,
      edges,
      rowOfBox,
      stats: { ops: this.packed.ops, boxes: boxes.length, edges: edges.length, hidden: totals, degraded: "" },
    };
  }

  #countHidden(boxes: Box[], place: (row: number) => number, shut: (fold: number) => boolean): Record<string, number> {
    const { helpers, kinds, tensors, reads } = this.packed,
      totals: Record<string, number> = {};
    const things = new Map<number, number>(),
      helped = new Map<string, [number, number]>();
    for (const [fold, thing, kind] of helpers) if (!shut(fold) && !things.has(thing)) things.set(thing, kind);
    for (const kind of [...things.values()].sort((a, b) => a - b)) {
      const name = kinds[kind]!;
      totals[name] = (totals[name] ?? 0) + 1;
    }
    const help = (helper: number, box: number) => {
      if (helper >= 0 || place(helper) >= 0 || box < 0) return;
      const thing = helpers[-1 - helper]![1];
      helped.set(`${thing} ${box}`, [box, things.get(thing)!]);
    };
    for (const [tensor, reader] of reads) {
      const maker = tensors[tensor]![0];
      help(maker, place(reader));
      help(reader, place(maker));
    }
    for (const [box, kind] of [...helped.values()].sort((a, b) => a[1] - b[1])) {
      const hidden = boxes[box]!.hidden,
        name = kinds[kind]!;
      hidden[name] = (hidden[name] ?? 0) + 1;
    }
    return totals;
  }

  #wires(boxes: Box[], place: (row: number) => number): Edge[] {
    const { tensors, reads } = this.packed;
    return grouped(reads, i => place(tensors[i]![0]), place, boxes.length).map(([a, b, found], i) => {
      const first = found.slice(0, TENSORS).map(t => tensors[t]!);
      const edge = edgeOf(
        i,
        boxes[a]!,
        boxes[b]!,
        found.length,
        first.map(t => t[1]),
      );
      if (found.length === 1) edge.label = first[0]![2];
      return { ...edge, texts: first.map(t => t[2]) };
    });
  }

  /** Adds the control edges that no other edge implies; returns how many control inputs are not drawn. */
  #controls(boxes: Box[], place: (row: number) => number, edges: Edge[]): number {
    const { controls, waits } = this.packed,
      between = new Set(edges.flatMap(e => [`${e.from} ${e.to}`, `${e.to} ${e.from}`]));
    const at = new Array<number>(boxes.length).fill(0);
    let hidden = 0;
    for (const [a, b, found] of grouped(waits, i => place(controls[i]![0]), place, boxes.length)) {
      if (between.has(`${boxes[a]!.id} ${boxes[b]!.id}`) || at[a]! >= CONTROL_MOST || at[b]! >= CONTROL_MOST) {
        hidden += found.length;
        continue;
      }
      at[a]!++;
      at[b]!++;
      const first = found.slice(0, TENSORS).map(t => "^" + controls[t]![1]);
      edges.push({ ...edgeOf(edges.length, boxes[a]!, boxes[b]!, found.length, first), control: true });
    }
    return hidden;
  }

  #hush(boxes: Box[], rowOfBox: number[], edges: Edge[]): void {
    const back = new Set(boxes.filter((_, i) => this.row(rowOfBox[i]!)[9] & BEHIND).map(b => b.id)),
      ends = new Map<string, number>();
    for (const e of edges) for (const end of [e.from, e.to]) ends.set(end, (ends.get(end) ?? 0) + 1);
    for (const e of edges) e.quiet = [e.from, e.to].some(end => ends.get(end)! >= (back.has(end) ? HUB : CROSSROADS));
  }
}

/** Pair of boxes -> the tensors from one box to the other, without duplicates. */
function grouped(
  pairs: [number, number][],
  from: (i: number) => number,
  to: (row: number) => number,
  n: number,
): [number, number, number[]][] {
  const found = new Map<number, Set<number>>();
  for (const [what, reader] of pairs) {
    const a = from(what),
      b = to(reader);
    if (a < 0 || b < 0 || a === b) continue;
    const key = a * n + b,
      there = found.get(key);
    if (there) there.add(what);
    else found.set(key, new Set([what]));
  }
  return [...found].sort((a, b) => a[0] - b[0]).map(([key, all]) => [Math.floor(key / n), key % n, [...all]]);
}

function edgeOf(i: number, from: Box, to: Box, n: number, tensors: string[]): Edge {
  const label = n > 1 ? `\u00d7${n}` : "";
  return { id: `e${i}`, from: from.id, to: to.id, d: "", n, control: false, quiet: false, state: "", label, lx: 0, ly: 0, tensors };
}

function detail(box: Box): string {
  const helped = Object.entries(box.hidden)
    .map(([kind, n]) => counted(n, kind))
    .join(", ");
  return [box.name.slice(0, 400), box.sub, helped && `with ${helped}`].filter(Boolean).join(" \u00b7 ");
}
