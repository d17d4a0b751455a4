// Draws a scene into a <g>. Elements are kept by name from one scene to the next, so that focus and looks stay.
import { clean, hasFocus, s } from "./dom";
import { type BoxMarks, chipsOf, isPart, labelOf, marksOf } from "./marks";
import { opens } from "./places";
import { drawBox, drawChips, drawEdge, drawEdgeLabel, drawFound, drawGroup, drawShare, headingOf, isQuiet, safeColour } from "./shapes";
import type { Boundary, Box, Edge, Group, Scene } from "./types";

export interface Item {
  key: string;
  g: SVGGElement;
  of: Box | Group;
  drawn: string;
}

export class Drawing {
  readonly root = s("g", { class: "gs-root", role: "presentation" });
  readonly items = new Map<string, Item>();
  scene: Scene | null = null;
  #byElement = new WeakMap<Element, Item | Edge>();
  #edges: { g: SVGGElement; label: SVGElement | null; of: Edge }[] = [];
  #marks = new Map<string, BoxMarks>();
  #ends = new Map<string, [number, number]>();
  /** In the order of view/svg.py. */
  #layers = {
    groups: layer("groups"),
    hull: layer("hull", true),
    edges: layer("edges", true),
    heads: layer("heads", true),
    boxes: layer("boxes"),
    labels: layer("labels", true),
    found: layer("found", true),
  };

  constructor() {
    this.root.append(...Object.values(this.#layers));
  }

  /** Replaces the scene. Marks and selects are put on by the next calls of `mark` and `select`. */
  draw(scene: Scene): void {
    this.scene = scene;
    this.#ends.clear();
    for (const e of scene.edges) {
      this.#end(e.from)[1] += e.n;
      this.#end(e.to)[0] += e.n;
    }
    const seen = new Set<string>();
    const put = (key: string, of: Box | Group, layer: SVGGElement) => {
      seen.add(key);
      let item = this.items.get(key);
      if (!item) {
        // Lumino looks at the focused element itself for this attribute before it runs a notebook's key binding
        const g = s("g", { role: "treeitem", tabindex: -1, "data-lm-suppress-shortcuts": "true", "data-name": of.name.slice(0, 2000) });
        item = { key, g, of, drawn: "" };
        this.items.set(key, item);
      }
      item.of = of;
      this.#byElement.set(item.g, item);
      const drawn = JSON.stringify({ ...of, x: 0, y: 0 });
      if (drawn !== item.drawn) {
        if ("kind" in of) drawBox(item.g, of);
        else drawGroup(item.g, of);
        item.drawn = drawn;
        item.g.setAttribute("class", classOf(of));
        if ("kind" in of) tint(item.g, of);
        item.g.setAttribute("aria-level", String(levelOf(of)));
        if (opens(of)) item.g.setAttribute("aria-expanded", String(!("kind" in of)));
      }
      item.g.setAttribute("transform", `translate(${of.x},${of.y})`);
      // re-appending a focused element would blur it: only what is out of place moves
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
    // headings once more, over the edges that enter a frame there
    this.#layers.heads.replaceChildren(
      ...scene.groups.map(of => {
        const g = s("g", { class: classOf(of).replace("gs-item ", ""), transform: `translate(${of.x},${of.y})` });
        g.append(headingOf(of));
        return g;
      }),
    );
  }

  /** Shows the boundary, and the box a connection starts from. */
  mark(boundary: Boundary | null, armed: string | null = null): void {
    if (!this.scene) return;
    this.#marks = marksOf(this.scene, boundary);
    for (const item of this.items.values()) {
      const marks = this.#marks.get(item.of.name),
        chips = chipsOf(marks, item.of.name === armed);
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
      const ends = "kind" in item.of ? this.#end(item.of.id) : ([0, 0] as [number, number]);
      item.g.setAttribute("aria-label", clean(labelOf(item.of, marks, chips, ends)).slice(0, 2000));
    }
    this.#hull(this.scene);
  }

  /** Highlights the selected boxes; called at once on a click, before Python hears of it. */
  select(names: ReadonlySet<string>): void {
    const selected = new Set([...names].map(name => this.named(name)));
    for (const item of this.items.values()) {
      const on = selected.has(item);
      item.g.classList.toggle("gs-selected", on);
      item.g.setAttribute("aria-selected", String(on));
    }
    for (const { g, of } of this.#edges) {
      g.classList.toggle("gs-lit", this.#idSelected(of.from, names) || this.#idSelected(of.to, names));
    }
  }

  /** Lets the boxes of these entries of the legend fade, and the edges that end there. */
  fade(keys: readonly string[]): void {
    const weak = new Set(keys),
      ids = new Set<string>();
    for (const item of this.items.values()) {
      if (!("kind" in item.of)) continue;
      const on = weak.has(item.of.paint?.key ?? item.of.family);
      if (on) ids.add(item.of.id);
      item.g.classList.toggle("gs-faded", on);
    }
    for (const { g, label, of } of this.#edges) {
      const on = ids.has(of.from) || ids.has(of.to);
      g.classList.toggle("gs-faded", on);
      label?.classList.toggle("gs-faded", on);
    }
  }

  /** The box, group or edge an event happened on; of a group only its heading counts. */
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

  /** The item of a name, box or group; of a scope without an own one, the first below it (a chain of scopes is one). */
  named(name: string): Item | undefined {
    const own = this.items.get("b:" + name) ?? this.items.get("g:" + name);
    if (own || !name.endsWith("/")) return own;
    const below = [...this.items.values()].filter(i => i.of.name.startsWith(name));
    return below.sort((a, b) => a.of.name.length - b.of.name.length)[0];
  }

  /** Marks the boxes that show or hold what was searched, with how many are inside. */
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
    for (const { g, of } of this.#edges) g.classList.toggle("gs-chosen", of === edge);
  }

  /** Marks the new edges that join what is copied to what is there, or that the plan connects. */
  join(connected: ReadonlySet<string>): void {
    const fresh = new Set(this.scene?.boxes.filter(b => b.state === "new").map(b => b.id));
    for (const { g, label, of } of this.#edges) {
      const joins = of.state === "new" && (!fresh.has(of.from) || !fresh.has(of.to) || of.tensors.some(t => connected.has(t)));
      g.classList.toggle("gs-joins", joins);
      label?.classList.toggle("gs-joins", joins);
    }
  }

  #drawEdges(scene: Scene): void {
    this.#edges = [...scene.edges]
      .sort((a, b) => Number(isQuiet(b)) - Number(isQuiet(a)))
      .map(of => {
        const g = s("g", {
          class: ["gs-edge", of.control && "gs-control", isQuiet(of) && "gs-quiet-edge", of.state && `gs-is-${of.state}`]
            .filter(Boolean)
            .join(" "),
        });
        drawEdge(g, of);
        this.#byElement.set(g, of);
        const label = of.label ? drawEdgeLabel(of) : null;
        if (label) this.#byElement.set(label, of);
        return { g, label, of };
      });
    this.#layers.edges.replaceChildren(...this.#edges.map(e => e.g));
    this.#layers.labels.replaceChildren(...this.#edges.flatMap(e => e.label ?? []));
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

  /** Reading order is document order: screen readers and Tab follow it. */
  #order(scene: Scene): void {
    for (const [layer, list] of [
      [this.#layers.boxes, scene.boxes],
      [this.#layers.groups, scene.groups],
    ] as const) {
      if (hasFocus(layer)) continue;
      const sorted = [...list].sort((a, b) => ("depth" in a && "depth" in b ? a.depth - b.depth : 0) || a.y - b.y || a.x - b.x);
      const wanted = sorted.map(b => this.items.get(("kind" in b ? "b:" : "g:") + b.name)!.g);
      if (wanted.some((g, i) => layer.children[i] !== g)) layer.append(...wanted);
    }
  }

  #end(id: string): [number, number] {
    let e = this.#ends.get(id);
    if (!e) this.#ends.set(id, (e = [0, 0]));
    return e;
  }

  #idSelected(id: string, names: ReadonlySet<string>): boolean {
    const box = this.scene?.boxes.find(b => b.id === id);
    return !!box && names.has(box.name);
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

/** Gives a box the colour that Python has chosen for it. */
function tint(g: SVGGElement, of: Box): void {
  if (!of.paint) return g.style.removeProperty("--gs-hue") as unknown as void;
  g.classList.add(of.paint.colour ? "gs-tinted" : "gs-untinted");
  if (of.paint.colour) g.style.setProperty("--gs-hue", safeColour(of.paint.colour));
}

function levelOf(of: Box | Group): number {
  return of.name.replace(/\/$/, "").split("/").length;
}
