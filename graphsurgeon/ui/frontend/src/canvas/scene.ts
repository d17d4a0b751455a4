// Draws a scene into a <g>. Elements are reused by name in the next scene, so that focus and style stay.
import { arrange, clean, hasFocus, setAttribute as write, s } from "../panels/dom";
import { type BoxMarks, chipsOf, isPart, labelOf, marksOf } from "../state/marks";
import { gives, isSame, opens, overlap, type Point } from "../state/places";
import { edgeAt } from "./edge_hit";
import type { Transform } from "./view";
import {
  drawBox,
  drawChips,
  drawEdgeLabel,
  drawEdges,
  drawFlow,
  drawFound,
  drawGroup,
  drawPlus,
  drawPort,
  drawShare,
  isQuiet,
  linesOf,
  outputsOf,
  portOf,
  safeColor,
  widthOf,
} from "./shapes";
import { LABEL, measure } from "../model/text";
import type { Boundary, Box, Edge, Group, InputCandidate, Paint, Rect, Scene } from "../model/types.generated";

/** The timing of movements. */
export const MOTION = { duration: 200, easing: "ease-out" };

const FLOWS = ["up", "down"] as const;
/** The attributes of elements that can have the focus. Lumino checks the last one before it runs a notebook's key binding. */
const FOCUSABLE = { role: "treeitem", tabindex: -1, "data-lm-suppress-shortcuts": "true" };
/** The marks of boxes that their edges have too. */
const EDGE_MARKS = ["lit", "faded", "away"] as const;

/** An output of a box, or an input that could read a tensor. */
export interface Port {
  box: Box;
  port: number;
  candidate?: InputCandidate;
}

export interface Item {
  g: SVGGElement;
  of: Box | Group;
  drawnKey: string;
  /** Its marks, as text. */
  marksKey: string;
}

export class Drawing {
  readonly root = s("g", { class: "gs-root", role: "presentation" });
  /** The boxes and groups by name: a box keeps its element when it becomes a group. */
  readonly items = new Map<string, Item>();
  scene: Scene | null = null;
  #byElement = new WeakMap<Element, Item | Edge>();
  /** The edges by their looks: one element draws all edges that look the same. */
  #edges = new Map<string, SVGGElement>();
  #labels = new Map<string, SVGElement>();
  /** The names of boxes by id. */
  #names = new Map<string, string>();
  /** The boxes whose edges are marked, and the marked edge. */
  #markedBoxes: Record<(typeof EDGE_MARKS)[number], ReadonlySet<string>> = { lit: new Set(), faded: new Set(), away: new Set() };
  #litEdge: Edge | null = null;
  /** The selected edge for keys and screen readers: the only edge with an element. */
  readonly edge = s("g", { ...FOCUSABLE, class: "gs-edge-item", "aria-selected": "true" });
  readonly #edgeRing = s("path", { class: "gs-ring" });
  #marks = new Map<string, BoxMarks>();
  #edgeCounts = new Map<string, [number, number]>();
  #far = 0;
  /** Edges are below the frames, so that an edge that enters a frame at its heading does not take the clicks there. */
  #layers = {
    hull: layer("hull", true),
    edges: layer("edges", true),
    groups: layer("groups"),
    flow: layer("flow", true),
    boxes: layer("boxes"),
    labels: layer("labels", true),
    hits: layer("found", true),
    far: layer("far", true),
    ports: layer("ports", true),
  };
  #outputs = s("g");
  #inputs = s("g");
  #hoverTarget: Item | Edge | null = null;
  #ports = new WeakMap<Element, Port>();
  #isDimmed = false;
  #candidates: Record<string, InputCandidate[]> | null = null;

  constructor() {
    this.root.append(...Object.values(this.#layers));
    this.#layers.ports.append(this.#inputs, this.#outputs);
    this.edge.append(this.#edgeRing);
  }

  /** Replaces the scene. The next calls of `mark` and `select` add marks and selections. */
  draw(scene: Scene): void {
    this.scene = scene;
    this.hover(null);
    this.#edgeCounts.clear();
    this.#names = new Map(scene.boxes.map(b => [b.id, b.name]));
    for (const e of scene.edges) {
      this.#end(e.from)[1] += e.count;
      this.#end(e.to)[0] += e.count;
    }
    const seen = new Set<string>();
    const put = (of: Box | Group, layer: SVGGElement) => {
      seen.add(of.name);
      let item = this.items.get(of.name);
      if (!item) {
        const g = s("g", { ...FOCUSABLE, "data-name": of.name.slice(0, 2000) });
        item = { g, of, drawnKey: "", marksKey: "" };
        this.items.set(of.name, item);
      }
      item.of = of;
      this.#byElement.set(item.g, item);
      const drawn = JSON.stringify({ ...of, id: 0, x: 0, y: 0 }); // ids are only unique in a scene
      if (drawn !== item.drawnKey) {
        if ("kind" in of) drawBox(item.g, of);
        else drawGroup(item.g, of);
        item.drawnKey = drawn;
        item.marksKey = "";
        write(item.g, "class", classOf(of));
        tint(item.g, "kind" in of ? of.paint : undefined);
        write(item.g, "aria-level", levelOf(of));
        if (opens(of)) write(item.g, "aria-expanded", !("kind" in of));
      }
      write(item.g, "transform", `translate(${of.x},${of.y})`);
      // re-appending a focused element would blur it: only misplaced elements move
      if (item.g.parentNode !== layer) layer.append(item.g);
    };
    for (const group of scene.groups) put(group, this.#layers.groups);
    for (const box of scene.boxes) put(box, this.#layers.boxes);
    for (const [name, item] of this.items)
      if (!seen.has(name)) {
        item.g.remove();
        this.items.delete(name);
      }
    this.#order(scene);
    this.#drawEdges();
    this.#farNames();
  }

  /** Shows the boundary, and the box that a connection starts from. */
  mark(boundary: Boundary | null, startBox: string | null = null): void {
    if (!this.scene) return;
    this.#marks = marksOf(this.scene, boundary);
    for (const item of this.items.values()) {
      const marks = this.#marks.get(item.of.name),
        ends = "kind" in item.of ? this.#end(item.of.id) : ([0, 0] as [number, number]),
        marked = JSON.stringify([marks, item.of.name === startBox, ends]);
      if (marked === item.marksKey) continue;
      item.marksKey = marked;
      const chips = chipsOf(marks, item.of.name === startBox);
      const part = !!marks && isPart(marks, item.of),
        classes = {
          in: marks?.inputs.length,
          out: marks?.outputs.length,
          leak: marks?.leaks,
          region: marks?.region,
          armed: item.of.name === startBox,
          part,
        };
      for (const [name, on] of Object.entries(classes)) item.g.classList.toggle(`gs-${name}`, !!on);
      item.g.querySelectorAll(":scope > .gs-chips, :scope > .gs-share").forEach(e => {
        if (e.previousSibling?.nodeType === Node.TEXT_NODE) e.previousSibling.remove();
        e.remove();
      });
      if (part) item.g.append(" ", drawShare(marks.region, item.of));
      if (chips.length) item.g.append(drawChips(chips, item.of));
      write(item.g, "aria-label", clean(labelOf(item.of, marks, chips, ends)).slice(0, 2000));
    }
    this.#hull(this.scene);
  }

  /** Highlights a box that the user is viewing. */
  point(name: string | null): void {
    const at = name === null ? undefined : this.find(name);
    this.#toggle("gs-at", item => item === at);
  }

  /** Draws a box as an empty frame until the next scene has its contents. */
  opening(name: string, on: boolean): void {
    const item = this.items.get(name);
    if (item && "kind" in item.of) item.g.classList.toggle("gs-opening", on);
  }

  /** Highlights the selected boxes; called at once on a click, before Python's answer. */
  select(names: ReadonlySet<string>): void {
    const selected = new Set([...names].map(name => this.find(name)));
    this.#toggle("gs-selected", item => {
      const on = selected.has(item);
      write(item.g, "aria-selected", on);
      return on;
    });
    this.#mark("lit", names);
  }

  /** Fades the boxes of these entries of the legend, and their edges. */
  fade(keys: readonly string[]): void {
    this.#mark(
      "faded",
      this.#toggle("gs-faded", ({ of }) => "kind" in of && keys.includes(of.paint?.key ?? of.family)),
    );
  }

  /** Gives some items a class; returns their names. */
  #toggle(name: string, on: (item: Item) => boolean): Set<string> {
    const names = new Set<string>();
    for (const item of this.items.values()) if (item.g.classList.toggle(name, on(item))) names.add(item.of.name);
    return names;
  }

  /** Marks the edges of some boxes. */
  #mark(kind: (typeof EDGE_MARKS)[number], names: ReadonlySet<string>): void {
    const old = this.#markedBoxes[kind];
    this.#markedBoxes[kind] = names;
    if (!isSame(old, names)) this.#drawEdges();
  }

  /** The positions of all items, by name. */
  positions(): Map<string, Point> {
    return new Map([...this.items].map(([name, { of }]) => [name, [of.x, of.y]]));
  }

  /** Moves items from their old positions to the new ones, if they are in sight; new items and the edges fade in meanwhile. */
  moveFrom(oldPositions: Map<string, Point>, from: Transform, to: Transform, seen: (r: Rect) => boolean): void {
    const at = (x: number, y: number) => ({ transform: `translate(${x}px,${y}px)` });
    for (const [name, { g, of }] of this.items) {
      const was = oldPositions.get(name);
      if (!was) seen(of) && g.animate?.([{ opacity: 0 }, { opacity: 1 }], MOTION);
      else {
        const x = (was[0] * from.k + from.x - to.x) / to.k,
          y = (was[1] * from.k + from.y - to.y) / to.k;
        if (Math.abs(x - of.x) + Math.abs(y - of.y) > 1 && (seen(of) || seen({ ...of, x, y })))
          g.animate?.([at(x, y), at(of.x, of.y)], MOTION);
      }
    }
    for (const name of ["hull", "edges", "labels", "hits"] as const)
      this.#layers[name].animate?.([{ opacity: 0 }, { opacity: 0, offset: 0.6 }, {}], MOTION);
  }

  /** If zoomed out, shows only names with enough space, at full size; `k` is 0 if not zoomed out. */
  far(k: number): void {
    const scale = k && Number(k.toFixed(3));
    if (scale === this.#far) return;
    this.#far = scale;
    this.#farNames();
  }

  #farNames(): void {
    const k = this.#far,
      taken: Rect[] = [],
      texts: SVGElement[] = [];
    const all: (Box | Group)[] = k && this.scene ? [...this.scene.groups, ...this.scene.boxes] : [];
    // the largest first, because their labels are the most useful
    for (const of of all.sort((a, b) => b.w * b.h - a.w * a.h)) {
      const wide = ((measure(of.label, LABEL, true) ?? of.label.length * LABEL) + 8) / k,
        high = (LABEL + 6) / k,
        group = !("kind" in of);
      const r = { x: of.x + of.w / 2 - wide / 2, y: group ? of.y - high / 2 : of.y + of.h / 2 - high / 2, w: wide, h: high };
      if (taken.some(other => overlap(r, other))) continue;
      taken.push(r);
      texts.push(
        s(
          "text",
          { x: of.x + of.w / 2, y: r.y + high / 2 + (LABEL * 0.35) / k, style: `font-size:${LABEL / k}px`, "stroke-width": 4 / k },
          of.label,
        ),
      );
    }
    this.#layers.far.replaceChildren(...texts);
  }

  /** Marks the boxes that the selection frame touches while it is drawn. */
  markTouched(boxes: readonly Box[]): void {
    const names = new Set(boxes.map(b => b.name));
    this.#toggle("gs-touched", ({ of }) => "kind" in of && names.has(of.name));
  }

  /** Shows the outputs of the box at the pointer, to drag tensors from, and highlights its edges, or the edge at the pointer. These
   * are drawn over the picture, so that the picture does not change. With the point at which the pointer has come to the edge of one
   * tensor, there is a button next to it that inserts an op. */
  hover(found: Item | Edge | null, point?: Point): void {
    if (found === this.#hoverTarget) return;
    this.#hoverTarget = found;
    const { scene } = this,
      item = found && "g" in found ? found : null,
      box = item && "kind" in item.of ? item.of : null,
      edge = found && "path" in found ? drawEdges(s("g", { class: `${this.#edgeClass(found)} gs-pointed` }), scene!, [found]) : null;
    this.#layers.flow.replaceChildren(...(scene && box ? FLOWS.map(way => drawFlow(scene, box, way)) : edge ? [edge] : []));
    this.root.parentElement?.classList.toggle("gs-on-edge", !!edge);
    this.#outputs.replaceChildren(
      ...Array.from({ length: box ? outputsOf(box) : 0 }, (_, port) => {
        const g = drawPort(portOf(box!, port, "output", this.scene!.direction), "out");
        this.#ports.set(g, { box: box!, port });
        this.#byElement.set(g, item!);
        return g;
      }),
    );
    if (found && "path" in found && point && found.count === 1 && !found.control) {
      const plus = drawPlus(point, scene!.direction);
      this.#byElement.set(plus, found);
      this.#outputs.append(plus);
    }
  }

  /** Fades all but some boxes, with their edges; null: no box fades. */
  only(names: ReadonlySet<string> | null): void {
    if (!names && !this.#markedBoxes.away.size) return;
    const kept = (this.scene?.boxes ?? []).filter(box => !names || names.has(box.name));
    this.#mark(
      "away",
      this.#toggle("gs-away", ({ of }) => !!names && ("kind" in of ? !names.has(of.name) : !kept.some(box => overlap(box, of)))),
    );
  }

  /** Highlights the possible consumers of a tensor, with their inputs; the others fade. Nothing is offered if `candidates` is null. */
  offer(candidates: Record<string, InputCandidate[]> | null): void {
    if (candidates === this.#candidates && !candidates) return;
    this.#candidates = candidates;
    const ports: SVGGElement[] = [];
    for (const item of this.items.values()) {
      const inputs = "kind" in item.of ? (candidates?.[item.of.name] ?? []) : [],
        fits = inputs.some(t => !t.reason);
      item.g.classList.toggle("gs-fits", fits);
      item.g.classList.toggle("gs-fits-not", !!candidates && "kind" in item.of && !fits && (inputs.length > 0 || !gives(item.of)));
      if (!fits || !("kind" in item.of)) continue;
      for (const [port, candidate] of inputs.entries()) {
        const g = drawPort(portOf(item.of, port, "input", this.scene!.direction, inputs.length), candidate.reason ? "no" : "in");
        this.#ports.set(g, { box: item.of, port, candidate });
        ports.push(g);
      }
    }
    this.#inputs.replaceChildren(...ports);
  }

  /** Fades boxes that cannot be chosen; null: no box. */
  dim(cannot: ((of: Box) => boolean) | null): void {
    if (cannot || this.#isDimmed) this.#toggle("gs-no-pick", ({ of }) => !!cannot && "kind" in of && cannot(of));
    this.#isDimmed = !!cannot;
  }

  /** Marks the box under the current drag. */
  aim(item: Item | null): void {
    this.#toggle("gs-aimed", one => one === item);
  }

  /** The output, or the highlighted input, of an event. */
  portAt(target: EventTarget | null): Port | undefined {
    const g = (target as Element | null)?.closest(".gs-port");
    return g ? this.#ports.get(g) : undefined;
  }

  /** The box, group or edge of an event, which may be at a point of the picture; a group only by its heading. */
  itemAt(target: EventTarget | null, point?: Point): Item | Edge | null {
    for (let e = target as Element | null; e && e !== this.root; e = e.parentElement) {
      const found = this.#byElement.get(e);
      if (!found) continue;
      if ("g" in found && !("kind" in found.of) && !(target as Element).closest(".gs-head, .gs-heading, .gs-chips") && target !== found.g)
        break;
      return found;
    }
    return point && this.root.parentElement?.contains(target as Node) ? this.scene && edgeAt(this.scene, point) : null;
  }

  /** The box or group of a name; for a scope without one, the first below it (a chain of scopes is one box). */
  find(name: string): Item | undefined {
    const own = this.items.get(name);
    if (own || !name.endsWith("/")) return own;
    const below = [...this.items.values()].filter(i => i.of.name.startsWith(name));
    return below.sort((a, b) => a.of.name.length - b.of.name.length)[0];
  }

  /** Marks the boxes with hits of a search, with the number of hits inside. */
  markHits(boxes: Record<string, number>): void {
    const chips: SVGGElement[] = [];
    for (const item of this.items.values()) {
      const n = "kind" in item.of ? (boxes[item.of.name] ?? 0) : 0;
      item.g.classList.toggle("gs-hit-box", n > 0);
      if (n && "kind" in item.of && opens(item.of)) chips.push(drawFound(n, item.of));
    }
    this.#layers.hits.replaceChildren(...chips);
  }

  lightEdge(edge: Edge | null): void {
    if (edge === this.#litEdge) return;
    this.#litEdge = edge;
    this.#drawEdges();
  }

  /** Highlights the selected edge, and gives it an element if it is in this picture. */
  chooseEdge(edge: Edge | null): void {
    this.lightEdge(edge);
    if (!edge || !this.scene?.edges.includes(edge)) return this.edge.remove();
    this.#byElement.set(this.edge, edge);
    write(this.#edgeRing, "d", linesOf(this.scene, [edge]));
    if (!this.edge.isConnected) this.#layers.boxes.after(this.edge);
  }

  /** The text of the selected edge for screen readers. */
  nameEdge(text: string): void {
    write(this.edge, "aria-label", clean(text).slice(0, 2000));
  }

  /** The classes of an edge. */
  #edgeClass(e: Edge): string {
    const marks = EDGE_MARKS.filter(mark => [e.from, e.to].some(id => this.#markedBoxes[mark].has(this.#nameOf(id))));
    return [
      "edge",
      e.control && "control",
      isQuiet(e) && "quiet-edge",
      e.state && `is-${e.state}`,
      ...marks,
      e === this.#litEdge && "chosen",
    ]
      .filter(Boolean)
      .map(word => "gs-" + word)
      .join(" ");
  }

  /** Draws the edges and their labels: faint edges are below the others. */
  #drawEdges(): void {
    const looks = new Map<string, Edge[]>(),
      labels = new Map<string, SVGElement>();
    for (const quiet of [true, false])
      for (const e of this.scene?.edges ?? []) {
        if (isQuiet(e) !== quiet) continue;
        const look = this.#edgeClass(e),
          key = `${look} ${widthOf(e)}`;
        if (!looks.get(key)?.push(e)) looks.set(key, [e]);
        if (!e.label) continue;
        let name = [this.#nameOf(e.from), this.#nameOf(e.to), e.control, e.label].join(" ");
        while (labels.has(name)) name += "+";
        const label = drawEdgeLabel(this.#labels.get(name), e, look.replace("gs-edge", "gs-edge-label"));
        labels.set(name, label);
        this.#byElement.set(label, e);
      }
    const old = this.#edges;
    this.#edges = new Map(
      [...looks].map(([key, edges]) => [key, drawEdges(old.get(key) ?? s("g", { class: this.#edgeClass(edges[0]!) }), this.scene!, edges)]),
    );
    this.#labels = labels;
    arrange(this.#layers.edges, [...this.#edges.values()]);
    arrange(this.#layers.labels, [...labels.values()]);
  }

  /** One soft shape around all boxes of the region and the edges between them. */
  #hull(scene: Scene): void {
    const inside = scene.boxes.filter(b => this.#marks.get(b.name)?.region);
    const ids = new Set(inside.map(b => b.id));
    this.#layers.hull.replaceChildren(
      s("path", {
        d: linesOf(
          scene,
          scene.edges.filter(e => ids.has(e.from) && ids.has(e.to) && !e.control),
        ),
      }),
      ...inside.map(b => s("rect", { x: b.x - 9, y: b.y - 9, width: b.w + 18, height: b.h + 18, rx: 13 })),
    );
  }

  /** Sorts elements in reading order, because screen readers and Tab follow the document. */
  #order(scene: Scene): void {
    for (const [layer, list] of [
      [this.#layers.boxes, scene.boxes],
      [this.#layers.groups, scene.groups],
    ] as const) {
      if (hasFocus(layer)) continue;
      const sorted = [...list].sort((a, b) => ("depth" in a && "depth" in b ? a.depth - b.depth : 0) || a.y - b.y || a.x - b.x);
      arrange(
        layer,
        sorted.map(b => this.items.get(b.name)!.g),
      );
    }
  }

  #end(id: string): [number, number] {
    let e = this.#edgeCounts.get(id);
    if (!e) this.#edgeCounts.set(id, (e = [0, 0]));
    return e;
  }

  #nameOf(id: string): string {
    return this.#names.get(id) ?? "";
  }
}

function layer(name: string, hidden = false): SVGGElement {
  return s("g", { class: `gs-layer-${name}`, role: "presentation", "aria-hidden": hidden && "true" });
}

function classOf(of: Box | Group): string {
  const state = of.state ? ` gs-is-${of.state}` : "";
  if (!("kind" in of)) return `gs-item gs-group${state}`;
  return `gs-item gs-box gs-${of.kind} gs-f-${/^[a-z]+$/.test(of.family) ? of.family : "other"}${state}`;
}

/** Sets the color of a box. */
function tint(g: SVGGElement, paint: Paint | undefined): void {
  if (!paint) return g.style.removeProperty("--gs-hue") as unknown as void;
  g.classList.add(paint.color ? "gs-tinted" : "gs-untinted");
  if (paint.color) g.style.setProperty("--gs-hue", safeColor(paint.color));
}

function levelOf(of: Box | Group): number {
  return of.name.replace(/\/$/, "").split("/").length;
}
