// One pane: a drawing, its view, and the mouse. It decides nothing: it tells its owner what was pointed at.
import { fill, focus, h, handled, hasFocus, s } from "./dom";
import { around, fresh, nearest, opens, overlap } from "./places";
import { Minimap } from "./minimap";
import { Drawing, type Item } from "./scene";
import type { Mode, PaneName } from "./verbs";
import type { Box, Edge, Group, Rect, Scene } from "./types";
import { View } from "./view";

export interface PaneEvents {
  selected(pane: Pane, names: string[], mode: Mode): void;
  opened(pane: Pane, item: Box | Group): void;
  edge(pane: Pane, edge: Edge): void;
  menu(pane: Pane, item: Item, x: number, y: number): void;
  looked(pane: Pane): void;
  focused(pane: Pane): void;
}

const STILL = 4;

export class Pane {
  readonly drawing = new Drawing();
  readonly view = new View(() => this.#looked());
  readonly svg = s("svg", { class: "gs-svg", role: "tree", "aria-multiselectable": "true" });
  readonly element: HTMLElement;
  readonly #title = h("div", { class: "gs-pane-title" });
  readonly #empty = h("div", { class: "gs-empty" });
  readonly #band = h("div", { class: "gs-band", hidden: true });
  readonly canvas: HTMLElement;
  readonly map: Minimap;
  /** Where one looked, by scene. */
  #looks = new Map<string, [number, number, number]>();
  #returning = false;
  #active: string | null = null;
  #anchor: string | null = null;
  #goal: { name: string; focus: boolean } | null = null;
  /** What shall come to the middle as soon as the pane has a size. */
  #framed: Rect | null = null;
  #sought: string[] = [];
  /** Names that stay in sight when the pane changes its width. */
  cared: string[] = [];
  #shown = false;
  #width = 0;
  #height = 0;

  constructor(
    readonly name: PaneName,
    private readonly events: PaneEvents,
  ) {
    this.svg.append(this.drawing.root);
    this.map = new Minimap(this.view, () => this.size);
    this.canvas = h("div", { class: "gs-canvas" }, this.svg, this.#empty, this.#band, this.map.element);
    this.element = h("section", { class: `gs-pane gs-pane-${name}`, "aria-label": name }, this.#title, this.canvas);
    this.#listen();
  }

  get scene(): Scene | null {
    return this.drawing.scene;
  }
  get size(): [number, number] {
    return [this.canvas.clientWidth, this.canvas.clientHeight];
  }

  /** Shows a scene; what was clicked, or else what is in the middle, stays where it is on screen. */
  update(scene: Scene | null, title: string): void {
    fill(this.#title, title);
    this.#title.title = title.slice(0, 300);
    this.svg.setAttribute("aria-label", `${this.name} graph ${title}`.slice(0, 300));
    this.element.classList.toggle("gs-nothing", !scene?.boxes.length);
    const none = this.name === "source" ? "There is no picture: the last line says why. The outline shows what is in the graph." : "";
    fill(this.#empty, !scene ? none : scene.boxes.length ? "" : "This graph has no ops.");
    if (!scene) {
      // the next scene is looked at anew
      this.drawing.scene = null;
      this.#shown = false;
      return;
    }
    const had = hasFocus(this.svg);
    const still = this.drawing.scene ? this.#holdOn(scene) : null;
    const old = this.drawing.scene,
      back = this.#returning && old !== scene ? this.#looks.get(scene.rev + scene.direction) : undefined;
    if (old && old !== scene) {
      this.#looks.set(old.rev + old.direction, [this.view.x, this.view.y, this.view.k]);
      this.#returning = false;
    }
    const added = this.drawing.scene === scene ? null : around(fresh(this.drawing.scene, scene));
    this.drawing.draw(scene);
    if (back) this.view.put(...back);
    else if (added) this.#framed = added;
    else if (still) {
      const to = this.drawing.named(still.name)!.of;
      this.view.pan((still.x - to.x) * this.view.k, (still.y - to.y) * this.view.k);
    }
    // a picture that has shrunk out of sight is looked at anew; what was folded by hand stays in its place
    if (this.#width && old && !back && !this.#anchor && !scene.boxes.some(box => this.view.sees(box, this.#width, this.#height)))
      this.#shown = false;
    this.#anchor = null;
    // a box that was unfolded is a group now, and the other way round: the focus stays on it
    const other = this.#active && (this.#active.startsWith("b:") ? "g:" : "b:") + this.#active.slice(2);
    const next = [this.#active, other, this.drawing.items.keys().next().value].find(k => k && this.drawing.items.has(k));
    this.#rove(next ?? null, had);
    this.resized();
    this.arrive();
    this.#seek();
    this.map.draw(scene);
  }

  /** Whether the next scene is looked at as it was left. */
  remember(yes: boolean): void {
    this.#returning = yes;
  }

  /** Looks from a place that was saved. */
  lookFrom(at: readonly number[]): void {
    const [x, y, k] = at;
    if (x !== undefined && y !== undefined && k) queueMicrotask(() => this.view.put(x, y, k));
  }

  /** Goes to `name` as soon as a scene shows it. */
  goTo(name: string, focus: boolean): void {
    this.#goal = { name, focus };
  }

  /** Looks whether the goal is there now. */
  arrive(): void {
    const item = this.#goal && this.drawing.named(this.#goal.name);
    if (!this.#goal || !item) return;
    // what one goes to can be read there
    if (this.#goal.focus && this.view.k < 0.5) this.zoom(0.75 / this.view.k);
    this.focus(item, true, this.#goal.focus);
    this.#goal = null;
  }

  /** Takes the first look once the pane has a size; later keeps the middle in the middle. */
  resized(): void {
    const [w, hh] = this.size;
    if (!this.scene || !w || !hh) return;
    const seen = this.#shown
      ? (this.cared.map(name => this.drawing.named(name)?.of).filter(of => !!of && this.view.sees(of, this.#width, this.#height)) as Rect[])
      : [];
    if (!this.#shown) this.view.first(this.scene, w, hh);
    else if (w !== this.#width || hh !== this.#height) {
      this.view.pan((w - this.#width) / 2, (hh - this.#height) / 2);
      this.#within(around(seen));
    }
    if (this.#framed) this.view.frame(this.#framed, w, hh);
    this.#framed = null;
    this.#shown = true;
    this.#width = w;
    this.#height = hh;
    this.map.look();
  }

  /** Pans as little as shows `r`, and zooms out no further than to 75 % for it. */
  #within(r: Rect | null): void {
    if (!r) return;
    const [w, hh] = this.size,
      k = Math.min(1, (w - 40) / r.w, (hh - 40) / r.h);
    if (k < this.view.k) this.zoom(Math.max(Math.min(this.view.k, 0.75), k) / this.view.k);
    this.view.show(r, w, hh);
  }

  /** Brings these into sight as soon as a scene shows them; the focus stays where it is. */
  lookAt(names: string[]): void {
    this.#sought = names;
    this.#seek();
  }

  #seek(): void {
    const there = this.#sought.map(name => this.drawing.named(name)?.of).filter(of => !!of) as Rect[];
    if (!this.scene || !this.#shown || !there.length) return;
    this.#sought = [];
    this.#within(around(there));
  }

  /** The item that keys act on. */
  get current(): Item | null {
    return (this.#active && this.drawing.items.get(this.#active)) || null;
  }

  /** Makes `item` the one that Tab stops at, and focuses it when asked. */
  focus(item: Item, show = true, keyboard = true): void {
    this.#rove(item.key, keyboard);
    if (show) {
      const of = item.of,
        r = "kind" in of ? of : { ...of, h: Math.min(of.h, 60) },
        map = this.map.element;
      this.view.show(r, ...this.size);
      // not under the map
      const [right, bottom] = this.view.toPane(r.x + r.w, r.y + r.h);
      if (!map.hidden && right > map.offsetLeft && bottom > map.offsetTop) this.view.pan(0, map.offsetTop - bottom - 8);
    }
  }

  /** Remembers that `name` shall not move when the next scene comes. */
  keep(name: string): void {
    this.#anchor = name;
  }

  fit(): void {
    if (this.scene) this.view.fit(this.scene, ...this.size);
  }
  zoom(factor: number): void {
    this.view.zoom(factor, this.size[0] / 2, this.size[1] / 2);
  }

  #rove(key: string | null, keyboard: boolean): void {
    for (const [k, item] of this.drawing.items) item.g.setAttribute("tabindex", k === key ? "0" : "-1");
    this.#active = key;
    if (keyboard && key) focus(this.drawing.items.get(key)?.g);
  }

  #holdOn(next: Scene): { name: string; x: number; y: number } | null {
    const names = new Set([...next.boxes, ...next.groups].map(b => b.name));
    const at = (name: string | null | undefined) => {
      const item = name != null && names.has(name) ? this.drawing.named(name) : undefined;
      return item ? { name: item.of.name, x: item.of.x, y: item.of.y } : null;
    };
    const [w, hh] = this.size,
      [x, y] = this.view.toScene(w / 2, hh / 2);
    const common = [...this.drawing.items.values()].map(i => i.of).filter(of => "kind" in of && names.has(of.name));
    return at(this.#anchor) ?? at(nearest({ x, y, w: 0, h: 0 }, common)?.name);
  }

  #looked(): void {
    const { x, y, k } = this.view;
    this.drawing.root.setAttribute("transform", `translate(${x.toFixed(2)},${y.toFixed(2)}) scale(${k.toFixed(4)})`);
    this.svg.classList.toggle("gs-far", k < 0.3);
    this.map?.look();
    this.events.looked(this);
  }

  #listen(): void {
    let from: { x: number; y: number; band: boolean; mode: Mode; id: number } | null = null,
      last = { x: 0, y: 0 },
      moved = false;
    const local = (e: MouseEvent): [number, number] => {
      const r = this.canvas.getBoundingClientRect();
      return [e.clientX - r.left, e.clientY - r.top];
    };
    this.canvas.addEventListener("pointerdown", e => {
      if (e.button !== 0) return;
      from = { x: e.clientX, y: e.clientY, band: e.shiftKey, mode: e.ctrlKey || e.metaKey ? "add" : "set", id: e.pointerId };
      last = { x: e.clientX, y: e.clientY };
      moved = false;
      this.#goal = null;
      this.#sought = [];
    });
    this.canvas.addEventListener("pointermove", e => {
      if (!from) return;
      if (!moved && Math.hypot(e.clientX - from.x, e.clientY - from.y) < STILL) return;
      if (!moved) this.canvas.setPointerCapture?.(from.id);
      moved = true;
      this.canvas.classList.toggle("gs-panning", !from.band);
      if (from.band) this.#drawBand(from, e);
      else this.view.pan(e.clientX - last.x, e.clientY - last.y);
      last = { x: e.clientX, y: e.clientY };
    });
    const end = (e: PointerEvent) => {
      if (from && moved && from.band && e.type === "pointerup") {
        const a = this.#toScene(from.x, from.y),
          b = this.#toScene(e.clientX, e.clientY);
        const r: Rect = { x: Math.min(a[0], b[0]), y: Math.min(a[1], b[1]), w: Math.abs(a[0] - b[0]), h: Math.abs(a[1] - b[1]) };
        this.events.selected(
          this,
          (this.scene?.boxes ?? []).filter(box => overlap(r, box)).map(box => box.name),
          from.mode,
        );
      }
      from = null;
      this.#band.hidden = true;
      this.canvas.classList.remove("gs-panning");
    };
    this.canvas.addEventListener("pointerup", end);
    this.canvas.addEventListener("pointercancel", end);
    this.canvas.addEventListener("click", e => {
      if (moved) {
        moved = false;
        return;
      }
      const found = this.drawing.at(e.target);
      if (found && "g" in found) {
        this.#rove(found.key, true);
        this.events.selected(this, [found.of.name], e.ctrlKey || e.metaKey ? "toggle" : "set");
      } else if (found) this.events.edge(this, found);
      else {
        focus(this.current?.g);
        this.events.selected(this, [], "set");
      }
    });
    this.canvas.addEventListener("dblclick", e => {
      const found = this.drawing.at(e.target);
      if (found && "g" in found && opens(found.of)) this.events.opened(this, found.of);
    });
    this.canvas.addEventListener("contextmenu", e => {
      const found = this.drawing.at(e.target);
      if (!found || !("g" in found)) return;
      // notebooks open a menu of their own further up
      handled(e);
      this.#rove(found.key, true);
      this.events.menu(this, found, e.clientX, e.clientY);
    });
    this.canvas.addEventListener(
      "wheel",
      e => {
        if (!e.ctrlKey && !e.metaKey) return;
        e.preventDefault();
        this.view.zoom(Math.exp(-e.deltaY * 0.002), ...local(e));
      },
      { passive: false },
    );
    // on the HTML element: a focus listener on an <svg> makes it a tab stop of its own
    this.canvas.addEventListener("focusin", e => {
      const found = this.drawing.at(e.target);
      if (found && "g" in found && found.key !== this.#active) this.#rove(found.key, false);
      this.events.focused(this);
    });
  }

  #toScene(clientX: number, clientY: number): [number, number] {
    const r = this.canvas.getBoundingClientRect();
    return this.view.toScene(clientX - r.left, clientY - r.top);
  }

  #drawBand(from: { x: number; y: number }, e: PointerEvent): void {
    const r = this.canvas.getBoundingClientRect(),
      style = this.#band.style;
    this.#band.hidden = false;
    style.left = `${Math.min(from.x, e.clientX) - r.left}px`;
    style.top = `${Math.min(from.y, e.clientY) - r.top}px`;
    style.width = `${Math.abs(from.x - e.clientX)}px`;
    style.height = `${Math.abs(from.y - e.clientY)}px`;
  }
}
