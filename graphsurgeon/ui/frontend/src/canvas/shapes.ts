// Draws a box, a group heading or an edge into a reused element.
import { clean, figure, setAttribute, s } from "../panels/dom";
import { type Chip, count, share, subOf } from "../state/marks";
import { OP_RADIUS, QUIET_WIDTH, RADIUS, SIGN, WIDTHS } from "../model/drawing.generated";
import { type FlowWay, reach } from "../state/neighbors";
import type { Point } from "../state/places";
import { textWidthAttributes, LABEL, LEADING, measure, SUB } from "../model/text";
import type { Box, Direction, Edge, Group, Mark, Scene } from "../model/types.generated";

const CHIP = 17,
  /** How far from an edge its button is, px of the picture. */ PLUS = 18;

function roundOf(b: Box): number {
  return b.kind === "variable" ? b.h / 2 : b.kind === "op" ? OP_RADIUS : RADIUS;
}

/** A box: outline, name, second line, and a sign for its state. */
export function drawBox(g: SVGGElement, b: Box): void {
  const parts: Node[] = [];
  const foldDepth = b.kind === "series" ? 2 : b.kind === "scope" || b.kind === "call" ? 1 : 0;
  const round = roundOf(b);
  // sheets below a folded box show that there is more inside
  for (let i = foldDepth; i > 0; i--) parts.push(s("rect", { class: "gs-sheet", x: 3 * i, y: 3 * i, width: b.w, height: b.h, rx: round }));
  parts.push(s("rect", { class: "gs-ring", x: -5, y: -5, width: b.w + 10, height: b.h + 10, rx: round + 5 }));
  parts.push(s("rect", { class: "gs-body", width: b.w, height: b.h, rx: round }));
  if (b.family === "unknown") parts.push(s("path", { class: "gs-hatch", d: hatch(b.w, b.h) }));
  if (b.state === "conflict")
    parts.push(s("rect", { class: "gs-second", x: 3, y: 3, width: b.w - 6, height: b.h - 6, rx: Math.max(2, round - 3) }));
  const middle = b.h / 2,
    lines = b.lines ?? [b.label],
    hidden = Object.values(b.hidden).reduce((n, m) => n + m, 0);
  lines.forEach((line, i) => {
    if (i) parts.push(space());
    parts.push(
      s(
        "text",
        {
          class: "gs-label",
          x: b.w / 2,
          y: (b.subtitle ? 17 : middle + 4) + LEADING * i,
          ...textWidthAttributes(line, LABEL, b.kind !== "op"),
        },
        line,
      ),
    );
  });
  const sub = subOf(b);
  if (sub) parts.push(space(), s("text", { class: "gs-sub", x: b.w / 2, y: b.h - 9, ...textWidthAttributes(sub, SUB) }, sub));
  // a stub shows the link to hidden ops
  if (hidden)
    parts.push(s("path", { class: "gs-stub", d: `M0,${middle}h-7` }), s("circle", { class: "gs-stub", cx: -9, cy: middle, r: 2.2 }));
  // the same as in view/svg.py
  if (foldDepth) parts.push(s("path", { class: "gs-more", d: `M${b.w - 13},8h6m-3,-3v6` }));
  let at = 7;
  for (const [color, share] of b.paint?.bars ?? []) {
    const wide = (b.w - 14) * share;
    parts.push(
      s("rect", { class: "gs-bar", x: at.toFixed(1), y: b.h - 5, width: wide.toFixed(1), height: 3, rx: 1, fill: safeColor(color) }),
    );
    at += wide;
  }
  if (b.state) parts.push(badge(b.w, 0, b.state));
  g.replaceChildren(...parts);
}

/** Slanting lines that fill a box; the same as in view/svg.py. */
function hatch(w: number, h: number, step = 7, off = 1.5): string {
  const [right, low] = [w - 2 * off, h - 2 * off];
  let d = "";
  for (let t = step; t <= right + low; t += step) {
    const x = Math.min(t, right),
      y = Math.min(t, low);
    d += `M${off + x},${off + t - x}L${off + t - y},${off + y}`;
  }
  return d;
}

/** A color as "#rrggbb", or gray for anything else. */
export function safeColor(color: string): string {
  return /^#[0-9a-f]{6}$/i.test(color) ? color : "#8a93a0";
}

/** Separates neighboring texts for screen readers. */
function space(): Text {
  return document.createTextNode(" ");
}

/** The name of an open scope. */
function headingOf(b: Group): SVGElement {
  const heading = s("text", { class: "gs-heading", x: 10, y: 17 });
  heading.append(s("tspan", { class: "gs-label", ...textWidthAttributes(b.label, LABEL, true) }, b.label));
  return heading;
}

/** An open scope: a frame with a heading. */
export function drawGroup(g: SVGGElement, b: Group): void {
  const heading = headingOf(b),
    said = count(b);
  const wide = measure(b.label, LABEL, true) ?? b.label.length * LABEL,
    long = measure(said, SUB) ?? 0;
  const figure =
    b.w > wide + long + 34 ? s("text", { class: "gs-sub gs-count", x: b.w - 10, y: 17, ...textWidthAttributes(said, SUB) }, said) : null;
  g.replaceChildren(
    s("rect", { class: "gs-ring", x: -3, y: -3, width: b.w + 6, height: b.h + 6, rx: RADIUS + 3 }),
    s("rect", { class: "gs-body", width: b.w, height: b.h, rx: RADIUS }),
    s("rect", { class: "gs-head", width: b.w, height: Math.min(26, b.h), rx: RADIUS }),
    heading,
    ...(figure ? [space(), figure] : []),
    ...(b.state ? [badge(b.w, 0, b.state)] : []),
  );
}

function badge(x: number, y: number, state: Mark): SVGGElement {
  const g = s("g", { class: `gs-badge gs-badge-${state}`, transform: `translate(${x},${y})`, "aria-hidden": "true" });
  g.append(s("circle", { r: 8 }), s("text", { y: 4 }, SIGN[state]));
  return g;
}

/** The number of hits inside a folded box. */
export function drawFound(n: number, b: Box): SVGGElement {
  const text = `${figure(n)} inside`,
    w = (measure(text, SUB, true) ?? 60) + 12;
  const g = s("g", { class: "gs-hit-chip", "aria-hidden": "true", transform: `translate(${b.x + b.w - w + 8},${b.y - 9})` });
  g.append(s("rect", { width: w, height: CHIP, rx: CHIP / 2 }), s("text", { x: w / 2, y: 12 }, text));
  return g;
}

/** The chips under a box: inputs from the left, outputs from the right. On a heading they are at the right. */
export function drawChips(chips: Chip[], item: Box | Group): SVGGElement {
  const g = s("g", { class: "gs-chips", "aria-hidden": "true" });
  const y = "kind" in item ? item.h - 5 : 5;
  const wide = (chip: Chip) => chip.text.length * 6.4 + 14,
    ahead = (chip: Chip) => "kind" in item && (chip.kind === "in" || chip.kind === "leak"),
    // next to the port in the middle, never below it
    room = (all: Chip[]) => item.w / 2 + 8 - 3 + all.reduce((sum, chip) => sum + wide(chip) + 3, 0);
  let left = "kind" in item ? Math.min(-6, item.w - room(chips.filter(ahead))) : 0,
    right = "kind" in item ? Math.max(item.w + 6, room(chips.filter(chip => !ahead(chip)))) : item.w - 8;
  for (const chip of chips) {
    const w = wide(chip),
      fromLeft = ahead(chip);
    const x = fromLeft ? left : right - w;
    if (fromLeft) left += w + 3;
    else right -= w + 3;
    const one = s("g", { class: `gs-chip gs-chip-${chip.kind}`, transform: `translate(${round(x)},${round(y)})` });
    one.append(s("rect", { width: round(w), height: CHIP, rx: CHIP / 2 }), s("text", { x: round(w / 2), y: 12 }, chip.text));
    g.append(space(), one);
  }
  return g;
}

/** How much of a fold is in the region, in the place of its size. */
export function drawShare(inside: number, item: Box | Group): SVGElement {
  const text = share(inside, item),
    isBox = "kind" in item;
  return s(
    "text",
    {
      class: `gs-share${isBox ? "" : " gs-count"}`,
      x: isBox ? item.w / 2 : item.w - 10,
      y: isBox ? item.h - 9 : 17,
      ...textWidthAttributes(text, SUB),
    },
    text,
  );
}

const PORTS = 12;

/** How many outputs of a box are drawn as ports: a fold has one, for all its outputs. */
export function outputsOf(b: Box): number {
  return b.kind === "scope" || b.kind === "series" ? 1 : Math.min(PORTS, b.outputs);
}

/** The position of a port of a box in the picture. */
export function portOf(b: Box, at: number, side: "input" | "output", direction: Direction, of = outputsOf(b)): Point {
  const share = (at + 0.5) / Math.max(1, of),
    far = side === "output" ? 1 : 0;
  return direction === "TB" ? [b.x + b.w * share, b.y + b.h * far] : [b.x + b.w * far, b.y + b.h * share];
}

/** A port: a dot, with space around it that also reacts to clicks. */
export function drawPort([x, y]: Point, kind: string): SVGGElement {
  const g = s("g", { class: `gs-port gs-port-${kind}`, transform: `translate(${round(x)},${round(y)})` });
  g.append(s("circle", { class: "gs-port-hit", r: 10 }), s("circle", { class: "gs-port-dot", r: 4.5 }));
  if (kind === "no") g.append(s("path", { class: "gs-port-cross", d: "M-2,-2L2,2M2,-2L-2,2" }));
  return g;
}

/** The button that inserts an op, next to a point of an edge. It also reacts to the pointer in the space between, so that the pointer
 * can go there. */
export function drawPlus([px, py]: Point, direction: Direction): SVGGElement {
  const down = direction === "TB",
    [x, y] = down ? [px - PLUS, py] : [px, py - PLUS];
  const g = s("g", { class: "gs-plus", transform: `translate(${round(x)},${round(y)})` });
  g.append(
    s("title", {}, "Insert an op here"),
    s("rect", { class: "gs-port-hit", x: -9, y: -9, width: down ? 9 + PLUS : 18, height: down ? 18 : 9 + PLUS }),
    s("circle", { r: 9 }),
    s("path", { d: "M-4,0h8M0,-4v8" }),
  );
  return g;
}

/** The width of the line of an edge. */
export function widthOf(e: Edge): number {
  return isQuiet(e) ? QUIET_WIDTH : e.control ? WIDTHS[0] : WIDTHS[Math.min(e.count, WIDTHS.length) - 1]!;
}

/** The lines of edges; a line that edges have in common is drawn once. */
export function linesOf({ lines }: Scene, edges: readonly Edge[]): string {
  return [...new Set(edges.flatMap(e => e.path))].map(i => "M" + lines[i]).join("");
}

/** The arrow heads of edges; edges with the same last line have one in common. */
function arrowsOf({ lines }: Scene, edges: readonly Edge[], more = 0): string {
  return [...new Map(edges.map(e => [e.path.at(-1)!, 6 + (more || widthOf(e))]))].map(([i, size]) => arrow(lines[i]!, size)).join("");
}

/** Edges that look the same: their lines and arrow heads. */
export function drawEdges(g: SVGGElement, scene: Scene, edges: readonly Edge[]): SVGGElement {
  const [{ state }] = edges as [Edge],
    wide = widthOf(edges[0]!);
  if (!g.firstChild) g.append(s("path", { class: "gs-line", "stroke-width": wide.toFixed(2) }), s("path", { class: "gs-arrow" }));
  setAttribute(g.children[0]!, "d", linesOf(scene, edges));
  setAttribute(g.children[1]!, "d", arrowsOf(scene, edges, state === "joined" ? 6 : 0));
  if (state === "removed") g.replaceChildren(g.children[0]!, g.children[1]!, ...edges.map(e => badge(e.label_x!, e.label_y!, state)));
  return g;
}

/** The edges into a box, or out of it, and rings around the boxes at their other ends, as one path for each kind. */
export function drawFlow(scene: Scene, from: Box, way: FlowWay): SVGGElement {
  const ids = reach(scene, [from.id], way),
    edges = scene.edges.filter(e => ids.has(e.from) && ids.has(e.to)),
    boxes = scene.boxes.filter(b => b !== from && ids.has(b.id)),
    g = s("g", { class: `gs-flow gs-${way}` });
  g.append(
    s("path", { class: "gs-line", d: linesOf(scene, edges) }),
    s("path", { class: "gs-arrow", d: arrowsOf(scene, edges) }),
    s("path", { class: "gs-ring", d: boxes.map(ring).join("") }),
  );
  return g;
}

/** The outline of the ring around a box. */
function ring(b: Box): string {
  const r = roundOf(b) + 5,
    across = b.w + 10 - 2 * r,
    down = b.h + 10 - 2 * r,
    turn = (x: number, y: number) => `a${r},${r} 0 0 1 ${x * r},${y * r}`;
  return `M${b.x - 5 + r},${b.y - 5}h${across}${turn(1, 1)}v${down}${turn(-1, 1)}h${-across}${turn(-1, -1)}v${-down}${turn(1, -1)}z`;
}

/** The label next to an edge, above all boxes. */
export function drawEdgeLabel(known: SVGElement | undefined, e: Edge, look: string): SVGElement {
  const label = known ?? s("text", textWidthAttributes(e.label!, SUB), e.label!);
  for (const [name, value] of Object.entries({ class: look, x: e.label_x!, y: e.label_y! + 3.5 })) setAttribute(label, name, value);
  return label;
}

/** An edge of many to one box: drawn faint, below other edges. */
export function isQuiet(e: Edge): boolean {
  return !!e.quiet && !e.state;
}

/** The number of characters at the end of a path that have its last control points. */
const ENDING = 99;

/** The numbers of a path. */
export function numbers(d: string): number[] {
  return (d.match(/-?\d+(?:\.\d+)?(?:e-?\d+)?/g) ?? []).map(Number);
}

/** The arrow head at the end of a path, along its last control point. */
export function arrow(d: string, size: number): string {
  const n = numbers(d.slice(-ENDING));
  const x = n[n.length - 2]!,
    y = n[n.length - 1]!;
  let dx = 0,
    dy = 0;
  for (let i = n.length - 4; i >= 0 && Math.hypot(dx, dy) < 0.5; i -= 2) {
    dx = x - n[i]!;
    dy = y - n[i + 1]!;
  }
  const long = Math.hypot(dx, dy);
  if (!long) return "";
  dx /= long;
  dy /= long;
  const bx = x - dx * size,
    by = y - dy * size,
    half = size * 0.42;
  return `M${round(bx - dy * half)},${round(by + dx * half)}L${round(x)},${round(y)}L${round(bx + dy * half)},${round(by - dx * half)}`;
}

export function round(x: number): number {
  return Math.round(x * 10) / 10;
}

/** The title of an edge: its tensor, or the number of its tensors. */
export function edgeTitle(e: Edge): string {
  const what = e.control ? "control edge" : "tensor";
  return clean(e.count > 1 ? `${e.count} ${what}s` : e.control ? `Control edge from ${e.tensor.slice(1)}` : e.tensor);
}
