// Draws a scene into a <g>. Elements are reused by name in the next scene, so that focus and style stay.
import { arrange, clean, hasFocus, put as write, s } from "../panels/dom";
import { type BoxMarks, chipsOf, isPart, labelOf, marksOf } from "../state/marks";
import { gives, opens, overlap } from "../state/places";
import {
  drawBox,
  drawChips,
  drawEdge,
  drawEdgeLabel,
  drawFlow,
  drawFound,
  drawGroup,
  drawPort,
  drawShare,
  isQuiet,
  outputsOf,
  portOf,
  safeColour,
} from "./shapes";
import { LABEL, measure } from "../model/text";
import type { Boundary, Box, Edge, Group, Rect, Scene, Taker } from "../model/types";

const MOVES_MS = 200,
  MOST_MOVED = 300;

const FLOWS = ["up", "down"] as const;

/** How a pane marks a scene. */
type Look = { x: number; y: number; k: number };

export interface Item {
  key: string;
  g: SVGGElement;
  of: Box | Group;
  drawn: string;
  /** Its marks, as text. */
  marked: string;
}

export class Drawing {
  readonly root = s("g", { class: "gs-root", role: "presentation" });
  readonly items = new Map<string, Item>();
  scene: Scene | null = null;
  #byElement = new WeakMap<Element, Item | Edge>();
  #edges = new Map<string, { g: SVGGElement; label: SVGElement | null; of: Edge; drawn: string }>();
  /** The names of boxes by id. */
  #names = new Map<string, string>();
  #marks = new Map<string, BoxMarks>();
  #ends = new Map<string, [number, number]>();
  #far = 0;
  /** Edges are below the frames, so that an edge that enters a frame at its heading does not take the clicks there. */
  #layers = {
    hull: layer("hull", true),
    edges: layer("edges", true),
    groups: layer("groups"),
    flow: layer("flow", true),
    boxes: layer("boxes"),
    labels: layer("labels", true),
    found: layer("found", true),
    far: layer("far", true),
    ports: layer("ports", true),
  };
  #outputs = s("g");
  #inputs = s("g");
  #hovered: Item | null = null;
  #alone = false;
  #outs = new WeakMap<Element, { box: Box; port: number }>();
  #ins = new WeakMap<Element, { box: string; taker: Taker }>();
  #offered: Record<string, Taker[]> | null = null;

  constructor() {
    this.root.append(...Object.values(this.#layers));
    this.#layers.ports.append(this.#inputs, this.#outputs);
  }

  /** Replaces the scene. The next calls of `mark` and `select` add marks and selections. */
  draw(scene: Scene): void {
    this.scene = scene;
    this.hover(null);
    this.#ends.clear();
    this.#names = new Map(scene.boxes.map(b => [b.id, b.name]));
    for (const e of scene.edges) {
      this.#end(e.from)[1] += e.n;
      this.#end(e.to)[0] += e.n;
    }
    const seen = new Set<string>();
    const put = (key: string, of: Box | Group, layer: SVGGElement) => {
      seen.add(key);
      let item = this.items.get(key);
      if (!item) {
        // Lumino checks this attribute of the focused element before it runs a notebook's key binding
        const g = s("g", { role: "treeitem", tabindex: -1, "data-lm-suppress-shortcuts": "true", "data-name": of.name.slice(0, 2000) });
        item = { key, g, of, drawn: "", marked: "" };
        this.items.set(key, item);
      }
      item.of = of;
      this.#byElement.set(item.g, item);
      const drawn = JSON.stringify({ ...of, id: 0, x: 0, y: 0 }); // ids are only unique in a scene
      if (drawn !== item.drawn) {
        if ("kind" in of) drawBox(item.g, of);
        else drawGroup(item.g, of);
        item.drawn = drawn;
        item.marked = "";
        item.g.setAttribute("class", classOf(of));
        if ("kind" in of) tint(item.g, of);
        item.g.setAttribute("aria-level", String(levelOf(of)));
        if (opens(of)) item.g.setAttribute("aria-expanded", String(!("kind" in of)));
      }
      write(item.g, "transform", `translate(${of.x},${of.y})`);
      // re-appending a focused element would blur it: only misplaced elements move
      if (item.g.parentNode !== layer) layer.append(item.g);
    };
    for (const group of [...scene.groups].sort((a, b) => a.depth - b.depth)) put("g:" + group.name, group, this.#layers.groups);
    for (const box of scene.boxes) put("b:" + box.name, box, this.#layers.boxes);
    for (const [key, item] of this.items)
      if (!seen.has(key)) {
        item.g.remove();
        this.items.delete(key);
      }
    this.#order(scene);
    this.#drawEdges(scene);
    this.#farNames();
  }

  /** Shows the boundary, and the box that a connection starts from. */
  mark(boundary: Boundary | null, armed: string | null = null): void {
    if (!this.scene) return;
    this.#marks = marksOf(this.scene, boundary);
    for (const item of this.items.values()) {
      const marks = this.#marks.get(item.of.name),
        ends = "kind" in item.of ? this.#end(item.of.id) : ([0, 0] as [number, number]),
        marked = JSON.stringify([marks, item.of.name === armed, ends]);
      if (marked === item.marked) continue;
      item.marked = marked;
      const chips = chipsOf(marks, item.of.name === armed);
      const list = item.g.classList;
      list.toggle("gs-in", !!marks?.inputs.length);
      list.toggle("gs-out", !!marks?.outputs.length);
      list.toggle("gs-leak", !!marks?.leaks);
      list.toggle("gs-region", !!marks?.region);
      list.toggle("gs-armed", item.of.name === armed);
      item.g.querySelectorAll(":scope > .gs-chips, :scope > .gs-share").forEach(e => {
        if (e.previousSibling?.nodeType === Node.TEXT_NODE) e.previousSibling.remove();
        e.remove();
      });
      const part = !!marks && isPart(marks, item.of);
      list.toggle("gs-part", part);
      if (part) item.g.append(" ", drawShare(marks.region, item.of));
      if (chips.length) item.g.append(drawChips(chips, item.of));
      write(item.g, "aria-label", clean(labelOf(item.of, marks, chips, ends)).slice(0, 2000));
    }
    this.#hull(this.scene);
  }

  /** Highlights a box that the user is viewing. */
  point(name: string | null): void {
    const at = name === null ? undefined : this.named(name);
    for (const item of this.items.values()) item.g.classList.toggle("gs-at", item === at);
  }

  /** Draws a box as an empty frame until the next scene has its contents. */
  opening(name: string, on: boolean): void {
    this.items.get("b:" + name)?.g.classList.toggle("gs-opening", on);
  }

  /** Highlights the selected boxes; called at once on a click, before Python's answer. */
  select(names: ReadonlySet<string>): void {
    const selected = new Set([...names].map(name => this.named(name)));
    for (const item of this.items.values()) {
      const on = selected.has(item);
      item.g.classList.toggle("gs-selected", on);
      write(item.g, "aria-selected", String(on));
    }
    for (const { g, of } of this.#edges.values())
      g.classList.toggle("gs-lit", names.has(this.#nameOf(of.from)) || names.has(this.#nameOf(of.to)));
  }

  /** Fades the boxes of these entries of the legend, and their edges. */
  fade(keys: readonly string[]): void {
    const weak = new Set(keys),
      ids = new Set<string>();
    for (const item of this.items.values()) {
      if (!("kind" in item.of)) continue;
      const on = weak.has(item.of.paint?.key ?? item.of.family);
      if (on) ids.add(item.of.id);
      item.g.classList.toggle("gs-faded", on);
    }
    for (const { g, label, of } of this.#edges.values()) {
      const on = ids.has(of.from) || ids.has(of.to);
      g.classList.toggle("gs-faded", on);
      label?.classList.toggle("gs-faded", on);
    }
  }

  /** The positions of all items, by key. */
  places(): Map<string, [number, number]> {
    return new Map([...this.items].map(([key, { of }]) => [key, [of.x, of.y]]));
  }

  /** Moves items from their old positions to the new ones; new items and the edges fade in meanwhile. */
  moveFrom(stood: Map<string, [number, number]>, from: Look, to: Look): void {
    if (this.items.size > MOST_MOVED) return;
    const timing = { duration: MOVES_MS, easing: "ease-out" },
      at = (x: number, y: number) => ({ transform: `translate(${x}px,${y}px)` });
    for (const [key, { g, of }] of this.items) {
      const was = stood.get(key) ?? stood.get((key.startsWith("b:") ? "g:" : "b:") + key.slice(2));
      if (!was) g.animate?.([{ opacity: 0 }, { opacity: 1 }], timing);
      else {
        const x = (was[0] * from.k + from.x - to.x) / to.k,
          y = (was[1] * from.k + from.y - to.y) / to.k;
        if (Math.abs(x - of.x) + Math.abs(y - of.y) > 1) g.animate?.([at(x, y), at(of.x, of.y)], timing);
      }
    }
    for (const name of ["hull", "edges", "labels", "found"] as const)
      this.#layers[name].animate?.([{ opacity: 0 }, { opacity: 0, offset: 0.6 }, {}], timing);
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
  touch(boxes: readonly Box[]): void {
    const names = new Set(boxes.map(b => b.name));
    for (const item of this.items.values()) item.g.classList.toggle("gs-touched", "kind" in item.of && names.has(item.of.name));
  }

  /** Shows the outputs of the box at the pointer, to drag tensors from. */
  hover(found: Item | Edge | null): void {
    const item = found && "g" in found ? found : null;
    if (item === this.#hovered) return;
    this.#hovered = item;
    this.#flow(item);
    const box = item && "kind" in item.of ? item.of : null;
    this.#outputs.replaceChildren(
      ...Array.from({ length: box ? outputsOf(box) : 0 }, (_, port) => {
        const g = drawPort(portOf(box!, port, "output", this.scene!.direction), "out");
        this.#outs.set(g, { box: box!, port });
        this.#byElement.set(g, item!);
        return g;
      }),
    );
  }

  /** Highlights the edges of a box: drawn over the picture, so that hundreds of elements do not change. */
  #flow(item: Item | null): void {
    const { scene } = this,
      from = item && "kind" in item.of ? item.of : null;
    this.#layers.flow.replaceChildren(...(scene && from ? FLOWS.map(way => drawFlow(scene, from, way)) : []));
  }

  /** Fades all but some boxes, with their edges; null: no box fades. */
  only(names: ReadonlySet<string> | null): void {
    if (!names && !this.#alone) return;
    this.#alone = !!names;
    const ids = new Set<string>(),
      kept: Box[] = [];
    for (const { g, of } of this.items.values()) {
      if (!("kind" in of)) continue;
      const away = !!names && !names.has(of.name);
      if (away) ids.add(of.id);
      else kept.push(of);
      g.classList.toggle("gs-away", away);
    }
    for (const { g, of } of this.items.values())
      if (!("kind" in of)) g.classList.toggle("gs-away", !!names && !kept.some(box => overlap(box, of)));
    for (const { g, label, of } of this.#edges.values()) {
      const away = ids.has(of.from) || ids.has(of.to);
      g.classList.toggle("gs-away", away);
      label?.classList.toggle("gs-away", away);
    }
  }

  /** Highlights the possible consumers of a tensor, with their inputs; the others fade. Nothing is offered if `takers` is null. */
  offer(takers: Record<string, Taker[]> | null): void {
    if (takers === this.#offered && !takers) return;
    this.#offered = takers;
    const ports: SVGGElement[] = [];
    for (const item of this.items.values()) {
      const inputs = "kind" in item.of ? (takers?.[item.of.name] ?? []) : [],
        fits = inputs.some(t => !t.why);
      item.g.classList.toggle("gs-fits", fits);
      item.g.classList.toggle("gs-fits-not", !!takers && "kind" in item.of && !fits && (inputs.length > 0 || !gives(item.of)));
      if (!fits || !("kind" in item.of)) continue;
      for (const [i, taker] of inputs.entries()) {
        const g = drawPort(portOf(item.of, i, "input", this.scene!.direction, inputs.length), taker.why ? "no" : "in");
        this.#ins.set(g, { box: item.of.name, taker });
        ports.push(g);
      }
    }
    this.#inputs.replaceChildren(...ports);
  }

  /** Marks the box under the current drag. */
  aim(item: Item | null): void {
    for (const one of this.items.values()) one.g.classList.toggle("gs-aimed", one === item);
  }

  /** The output that an event happened on. */
  outputAt(target: EventTarget | null): { box: Box; port: number } | null {
    const g = (target as Element | null)?.closest(".gs-port");
    return (g && this.#outs.get(g)) ?? null;
  }

  /** The highlighted input at an event, and its box. */
  takerAt(target: EventTarget | null): { box: string; taker: Taker } | null {
    const g = (target as Element | null)?.closest(".gs-port");
    return (g && this.#ins.get(g)) ?? null;
  }

  /** The box, group or edge of an event; a group only by its heading. */
  at(target: EventTarget | null): Item | Edge | null {
    for (let e = target as Element | null; e && e !== this.root; e = e.parentElement) {
      const found = this.#byElement.get(e);
      if (!found) continue;
      if ("g" in found && !("kind" in found.of) && !(target as Element).closest(".gs-head, .gs-heading, .gs-chips") && target !== found.g)
        return null;
      return found;
    }
    return null;
  }

  /** The box or group of a name; for a scope without one, the first below it (a chain of scopes is one box). */
  named(name: string): Item | undefined {
    const own = this.items.get("b:" + name) ?? this.items.get("g:" + name);
    if (own || !name.endsWith("/")) return own;
    const below = [...this.items.values()].filter(i => i.of.name.startsWith(name));
    return below.sort((a, b) => a.of.name.length - b.of.name.length)[0];
  }

  /** Marks the boxes with hits of a search, with the number of hits inside. */
  found(boxes: Record<string, number>): void {
    const chips: SVGGElement[] = [];
    for (const item of this.items.values()) {
      const n = "kind" in item.of ? (boxes[item.of.name] ?? 0) : 0;
      item.g.classList.toggle("gs-hit-box", n > 0);
      if (n && "kind" in item.of && opens(item.of)) chips.push(drawFound(n, item.of));
    }
    this.#layers.found.replaceChildren(...chips);
  }

  lightEdge(edge: Edge | null): void {
    for (const { g, of } of this.#edges.values()) g.classList.toggle("gs-chosen", of === edge);
  }

  /** Marks the edges that a stroke has crossed. */
  strike(edges: ReadonlySet<Edge>): void {
    const d = [...edges].map(e => e.d).join("");
    this.#layers.flow.replaceChildren(...(d ? [s("path", { class: "gs-line gs-flow gs-struck", d })] : []));
  }

  #drawEdges(scene: Scene): void {
    const old = this.#edges;
    this.#edges = new Map();
    for (const of of [...scene.edges].sort((a, b) => Number(isQuiet(b)) - Number(isQuiet(a)))) {
      let key = [this.#nameOf(of.from), this.#nameOf(of.to), of.control].join(" ");
      while (this.#edges.has(key)) key += "+";
      const drawn = JSON.stringify({ ...of, id: 0, from: 0, to: 0 }),
        was = old.get(key);
      let { g, label } = was ?? { g: s("g"), label: null };
      if (was?.drawn !== drawn) {
        const state = of.state && `gs-is-${of.state}`;
        write(g, "class", ["gs-edge", of.control && "gs-control", isQuiet(of) && "gs-quiet-edge", state].filter(Boolean).join(" "));
        drawEdge(g, of);
        label = of.label ? drawEdgeLabel(of) : null;
      }
      this.#byElement.set(g, of);
      if (label) this.#byElement.set(label, of);
      this.#edges.set(key, { g, label, of, drawn });
    }
    const edges = [...this.#edges.values()];
    arrange(
      this.#layers.edges,
      edges.map(e => e.g),
    );
    arrange(
      this.#layers.labels,
      edges.flatMap(e => e.label ?? []),
    );
  }

  /** One soft shape around all boxes of the region and the edges between them. */
  #hull(scene: Scene): void {
    const inside = scene.boxes.filter(b => this.#marks.get(b.name)?.region);
    const ids = new Set(inside.map(b => b.id));
    this.#layers.hull.replaceChildren(
      ...scene.edges.filter(e => ids.has(e.from) && ids.has(e.to) && !e.control).map(e => s("path", { d: e.d })),
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
        sorted.map(b => this.items.get(("kind" in b ? "b:" : "g:") + b.name)!.g),
      );
    }
  }

  #end(id: string): [number, number] {
    let e = this.#ends.get(id);
    if (!e) this.#ends.set(id, (e = [0, 0]));
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
function tint(g: SVGGElement, of: Box): void {
  if (!of.paint) return g.style.removeProperty("--gs-hue") as unknown as void;
  g.classList.add(of.paint.colour ? "gs-tinted" : "gs-untinted");
  if (of.paint.colour) g.style.setProperty("--gs-hue", safeColour(of.paint.colour));
}

function levelOf(of: Box | Group): number {
  return of.name.replace(/\/$/, "").split("/").length;
}
