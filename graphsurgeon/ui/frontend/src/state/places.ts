// Positions in a scene: the box of an op, the neighbors of a box.
import type { Box, Direction, Edge, Group, Rect, Scene } from "../model/types.generated";

export type Point = [x: number, y: number];

/** The op of a tensor: "a/b:0" -> "a/b". */
export function opOf(tensor: string): string {
  return tensor.replace(/^\^/, "").replace(/:\d+$/, "");
}

/** The box that shows an op: its own, or the folded one it is in, or the innermost open group. */
export function placeOf(scene: Scene, op: string): Box | Group | null {
  let best: Box | Group | null = null;
  for (const box of scene.boxes) {
    if (box.name === op) return box;
    if (contains(box.name, op) && (!best || box.name.length > best.name.length)) best = box;
  }
  if (best) return best;
  for (const group of scene.groups) if (contains(group.name, op) && (!best || group.name.length > best.name.length)) best = group;
  return best;
}

/** Whether a fold key has the op inside: "a/b/", "~a/block_3/" with block_3_x and block_3a_x, or "~a/block_[0..11]/". */
export function contains(key: string, op: string): boolean {
  if (!key.startsWith("~")) return key.endsWith("/") && op.startsWith(key);
  const [, head = "", low, high, tail = "", fold] = /^~(.*?)(?:\[(\d+)\.\.(\d+)\](.*?))?(\/?)$/s.exec(key) ?? [];
  const number = low ? (/^\d+/.exec(op.slice(head.length))?.[0] ?? "-") : "";
  const start = head + number + tail;
  if (!op.startsWith(start) || (low && (+number < +low || +number > +high!))) return false;
  return fold ? /^[a-z]?[/_.-]/.test(op.slice(start.length)) : op === start;
}

/** The name to display: the key of a series or block without its special characters, any other name unchanged. */
export function displayName(key: string): string {
  return key.startsWith("~") ? key.replace(/^~|\/$/g, "") : key;
}

/** The kinds of an adapter as text: "Pool + dense". */
export function kindsOf(adapter: { kinds: string[] }): string {
  return capital(adapter.kinds.join(" + "));
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The point of a box or frame that stays fixed when the picture changes: the middle of the side at which edges enter. */
export function entry(of: Rect, direction: Direction): Point {
  return direction === "LR" ? [of.x, of.y + of.h / 2] : [of.x + of.w / 2, of.y];
}

/** The innermost common scope of names, with a slash at the end; empty if there is none. */
export function sharedScope(names: string[]): string {
  const [first = "", ...rest] = names;
  let end = first.length;
  for (const name of rest) while (!name.startsWith(first.slice(0, end))) end--;
  const same = first.slice(0, end);
  return same.slice(0, (names.includes(same) ? same.replace(/\/$/, "") : same).lastIndexOf("/") + 1);
}

/** Whether a name is that of a scope or a series. */
export function isFoldName(name: string): boolean {
  return name.endsWith("/") || name.startsWith("~");
}

/** Whether two sets of names are equal. */
export function isSame(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.size === b.size && [...a].every(name => b.has(name));
}

/** Whether a box or group represents several ops. */
export function isFold(item: Box | Group): boolean {
  return !("kind" in item) || item.kind === "scope" || item.kind === "series";
}

/** Whether a box is an op with outputs. */
export function gives(of: Box | Group): boolean {
  return "kind" in of && of.kind === "op" && of.outputs > 0;
}

/** Whether a box or group can be opened or closed: folds and calls can. */
export function opens(item: Box | Group): boolean {
  return isFold(item) || ("kind" in item && item.kind === "call");
}

export type Step = "up" | "down" | "left" | "right";

/** The box for an arrow key: along an edge in that direction if there is one, else the nearest box. */
export function neighbor(scene: Scene, from: Box | Group, step: Step): Box | null {
  const along = scene.direction === "TB" ? { up: -1, down: 1, left: 0, right: 0 }[step] : { up: 0, down: 0, left: -1, right: 1 }[step];
  const byId = new Map(scene.boxes.map(b => [b.id, b]));
  if (along && "kind" in from) {
    const next = scene.edges
      .filter(e => (along > 0 ? e.from : e.to) === from.id)
      .map(e => byId.get(along > 0 ? e.to : e.from))
      .filter((b): b is Box => !!b && b !== from);
    if (next.length) return nearest(from, next);
  }
  const [cx, cy] = centre(from);
  const across = step === "left" || step === "right";
  const sign = step === "left" || step === "up" ? -1 : 1;
  const there = scene.boxes.filter(b => {
    const [x, y] = centre(b);
    return b !== from && (across ? (x - cx) * sign > 1 : (y - cy) * sign > 1);
  });
  // going sideways prefers the same row, going up and down the same column
  return nearest(from, there, across ? [1, 4] : [4, 1]);
}

/** The edges of a box: those that enter it, then those that leave it. */
export function edgesOf({ edges }: Scene, { id }: Box | Group): Edge[] {
  return [...edges.filter(e => e.to === id), ...edges.filter(e => e.from === id && e.to !== id)];
}

/** The item whose center is nearest. */
export function nearest<T extends Rect>(from: Rect, items: T[], weight: [number, number] = [1, 1]): T | null {
  const [cx, cy] = centre(from);
  const far = (r: T) => {
    const [x, y] = centre(r);
    return Math.abs(x - cx) * weight[0] + Math.abs(y - cy) * weight[1];
  };
  let best: T | null = null;
  for (const item of items) if (!best || far(item) < far(best)) best = item;
  return best;
}

export function centre(r: Rect): Point {
  return [r.x + r.w / 2, r.y + r.h / 2];
}

/** The smallest rectangle around all of them; null around nothing. */
export function around(all: Rect[]): Rect | null {
  if (!all.length) return null;
  const x = Math.min(...all.map(r => r.x)),
    y = Math.min(...all.map(r => r.y));
  return { x, y, w: Math.max(...all.map(r => r.x + r.w)) - x, h: Math.max(...all.map(r => r.y + r.h)) - y };
}

/** The additions of a plan: boxes and frames that are new in `next` (not those that came out of a fold, or went into one), and the ends of its connections. */
export function fresh(before: Scene | null, next: Scene): Rect[] {
  const old = [...(before?.boxes ?? []), ...(before?.groups ?? [])].filter(b => b.state === "new").map(b => b.name);
  const known = new Set(old),
    folds = old.filter(name => /[/\]]$/.test(name));
  const made = [...next.groups, ...next.boxes].filter(
    b => b.state === "new" && !known.has(b.name) && !folds.some(key => contains(key, b.name)),
  );
  const were = new Set([...(before?.boxes ?? []), ...(before?.groups ?? [])].filter(b => b.state === "changed").map(b => b.name));
  const changed = next.boxes.filter(b => b.state === "changed" && ![...were].some(name => name === b.name || contains(name, b.name)));
  const ends = new Set(next.edges.filter(e => e.state === "joined" && changed.some(b => b.id === e.to)).map(e => e.from));
  return [...made, ...changed, ...next.boxes.filter(b => ends.has(b.id))];
}

export function overlap(a: Rect, b: Rect): boolean {
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}
