// A pane: a drawing, its view, and the mouse. Its owner receives the box, port or edge at the pointer, and decides what to do.
import type { Camera } from "../state/cameras";
import { button, fill, focus, h, hasFocus, put, s } from "../panels/dom";
import { icon } from "../panels/icons";
import { around, entry, fresh, nearest } from "../state/places";
import { Minimap } from "./minimap";
import type { Over } from "./overlay";
import { type Drag, Pointer } from "./pointer";
import { Drawing, type Item } from "./scene";
import { portOf } from "./shapes";
import type { Mode, PaneName } from "../model/verbs.generated";
import type { Box, Edge, Group, Rect, Scene } from "../model/types";
import { View } from "./view";

export interface PaneEvents {
  selected(pane: Pane, names: string[], mode: Mode): void;
  opened(pane: Pane, item: Box | Group): void;
  edge(pane: Pane, edge: Edge): void;
  menu(pane: Pane, of: Item | Edge, x: number, y: number): void;
  /** A drag begins here, on a box, a port or an edge; null for the default effect of a drag. */
  dragged(pane: Pane, e: PointerEvent): Drag | null;
  looked(pane: Pane): void;
  focused(pane: Pane): void;
  alone(pane: Pane): void;
}

const FAR = 0.3;

/** Whether the user prefers reduced motion. */
function calm(): boolean {
  return typeof matchMedia !== "function" || matchMedia("(prefers-reduced-motion: reduce)").matches;
}

export class Pane {
  readonly drawing = new Drawing();
  readonly view = new View(() => this.#looked());
  readonly svg = s("svg", { class: "gs-svg", role: "tree", "aria-multiselectable": "true" });
  readonly element: HTMLElement;
  readonly #title = h("div", { class: "gs-pane-name" });
  readonly #alone = button({
    icon: icon("full"),
    label: "Only this pane",
    kind: "quiet",
    "aria-pressed": "false",
    press: () => this.events.alone(this),
  });
  readonly #empty = h("div", { class: "gs-empty" });
  readonly canvas: HTMLElement;
  readonly map: Minimap;
  readonly pointer: Pointer;
  #active: string | null = null;
  #anchor: string | null = null;
  #goal: { name: string; focus: boolean; read: boolean } | null = null;
  /** The boxes to center as soon as the pane has a size. */
  #framed: Rect | null = null;
  /** The new boxes to bring into view. */
  #brought: Rect | null = null;
  /** The camera before the pane changed its size, and after it; a further change of size starts from the first one. */
  #base: { camera: Camera; at: string } | null = null;
  /** The last framed boxes, and the camera then: if the user has not moved since, they are framed again at another size. */
  #still: { framed: Rect; at: string } | null = null;
  #sought: string[] = [];
  /** Names of boxes that stay visible when the pane changes its width. */
  cared: string[] = [];
  #shown = false;
  /** The first camera, until there is another scene. */
  #first = "";
  #width = 0;
  #height = 0;

  constructor(
    readonly name: PaneName,
    private readonly events: PaneEvents,
    over: Over,
  ) {
    this.svg.append(this.drawing.root);
    this.map = new Minimap(this.view, () => this.size);
    this.canvas = h("div", { class: "gs-canvas" }, this.svg, this.#empty, this.map.element);
    this.element = h(
      "section",
      { class: `gs-pane gs-pane-${name}`, "aria-label": name },
      h("div", { class: "gs-pane-title" }, this.#title, this.#alone),
      this.canvas,
    );
    this.pointer = new Pointer(
      this,
      {
        selected: (names, mode) => events.selected(this, names, mode),
        opened: item => events.opened(this, item),
        edge: edge => events.edge(this, edge),
        menu: (of, x, y) => events.menu(this, of, x, y),
        dragged: e => events.dragged(this, e),
      },
      over,
    );
    // on the HTML element: a focus listener on an <svg> makes it a separate tab stop
    this.canvas.addEventListener("focusin", e => {
      const found = this.drawing.at(e.target);
      if (found && "g" in found && found.key !== this.#active) this.#rove(found.key, false);
      this.events.focused(this);
    });
  }

  /** Whether only this pane is shown although there is room for two. */
  alone(yes: boolean): void {
    this.#alone.setAttribute("aria-pressed", String(yes));
  }

  get scene(): Scene | null {
    return this.drawing.scene;
  }
  get size(): [number, number] {
    return [this.canvas.clientWidth, this.canvas.clientHeight];
  }

  /** Its view of the picture. */
  get camera(): Camera {
    return { x: this.view.x, y: this.view.y, k: this.view.k, w: this.#width, h: this.#height };
  }

  #put({ x, y, k, w, h: high }: Camera): void {
    this.view.put(x, y, k);
    this.#width = w;
    this.#height = high;
  }

  /** Shows a scene with the camera `back`, or so that the clicked box, or the box in the middle, keeps its place.
   * A pane goes to new boxes; by `bring` if it follows the camera of another pane. */
  update(scene: Scene | null, title: string, follows = false, back?: Camera): void {
    fill(this.#title, title);
    this.#title.title = title.slice(0, 300);
    this.svg.setAttribute("aria-label", `${this.name} graph ${title}`.slice(0, 300));
    this.element.classList.toggle("gs-nothing", !scene?.boxes.length);
    const none = this.name === "source" ? "The graph cannot be drawn (see status). The outline lists its ops." : "";
    fill(this.#empty, !scene ? none : scene.boxes.length ? "" : "This graph has no ops.");
    if (!scene) {
      // the next scene gets a new first view
      this.drawing.scene = null;
      this.#shown = false;
      this.map.draw(null);
      return;
    }
    const had = hasFocus(this.svg),
      anew = this.drawing.scene !== scene,
      stood = anew && this.#shown && !calm() ? this.drawing.places() : null,
      from = { x: this.view.x, y: this.view.y, k: this.view.k };
    const still = this.drawing.scene ? this.#holdOn(scene) : null;
    const old = this.drawing.scene;
    if (anew) this.#base = null;
    const added = this.drawing.scene === scene ? null : around(fresh(this.drawing.scene, scene));
    this.drawing.draw(scene);
    if (anew) this.#brought = follows && !back ? added : null;
    if (anew) this.#first = "";
    if (back) {
      this.#put(back);
      this.#shown = true;
      this.#base = { camera: back, at: this.#stands() };
    } else if (added && !follows) this.#framed = added;
    else if (still && !this.#brought) {
      const [x, y] = entry(this.drawing.named(still.name)!.of, scene.direction);
      this.view.pan((still.x - x) * this.view.k, (still.y - y) * this.view.k);
    }
    // if the picture has shrunk out of view, a new view is chosen; a box that the user folded keeps its place
    if (this.#width && old && !back && !this.#anchor && !scene.boxes.some(box => this.view.sees(box, this.#width, this.#height)))
      this.#shown = false;
    const opened = anew && this.#anchor ? this.drawing.named(this.#anchor)?.of : undefined;
    if (anew) this.#anchor = null;
    // an unfolded box is now a group, and a folded group is a box: it keeps the focus
    const other = this.#active && (this.#active.startsWith("b:") ? "g:" : "b:") + this.#active.slice(2);
    const next = [this.#active, other, this.drawing.items.keys().next().value].find(k => k && this.drawing.items.has(k));
    this.#rove(next ?? null, had);
    this.resized();
    // an opened box is made visible with its contents, if there is space
    if (opened && this.#width) this.view.show(opened, this.#width, this.#height);
    this.arrive();
    this.#seek();
    this.map.draw(scene);
    if (stood) this.drawing.moveFrom(stood, from, this.view, r => this.view.sees(r, ...this.size));
  }

  /** Shows a saved view. */
  lookFrom(at: readonly number[]): void {
    const [x, y, k] = at;
    if (x !== undefined && y !== undefined && k) queueMicrotask(() => this.view.put(x, y, k));
  }

  /** Goes to `name` as soon as a scene shows it; with `read`, zoomed in so that it is readable. */
  goTo(name: string, focus: boolean, read = focus): void {
    this.#goal = { name, focus, read };
  }

  /** Goes to the goal if the scene now shows it. */
  arrive(): void {
    const item = this.#goal && this.drawing.named(this.#goal.name);
    if (!this.#goal || !item) return;
    // the target must be large enough to read
    if (this.#goal.read && this.view.k < 0.5) this.zoom(0.75 / this.view.k);
    this.focus(item, false, this.#goal.focus);
    this.view.centre(headOf(item.of), ...this.size);
    this.#goal = null;
  }

  #stands(): string {
    return [this.view.x, this.view.y, this.view.k].join();
  }

  /** Sets the first view once the pane has a size, and again at another width until the user moves the camera. Later keeps the middle
   * in the middle across, and does not move the top. */
  resized(): void {
    const [w, hh] = this.size;
    if (!this.scene || !w || !hh) return;
    const other = w !== this.#width || hh !== this.#height;
    if (other && this.#still?.at === this.#stands()) this.#framed ??= this.#still.framed;
    if (!this.#shown || (w !== this.#width && this.#first === this.#stands())) {
      this.view.first(this.scene, w, hh);
      this.#first = this.#stands();
    } else if (other) {
      // a pane that gets its old size back gets its camera back, unless the user has moved it since
      if (this.#base?.at === this.#stands()) this.#put(this.#base.camera);
      else this.#base = { camera: this.camera, at: "" };
      if (w !== this.#width || hh !== this.#height) this.#fitInto(w);
      this.#base.at = this.#stands();
    }
    if (this.#framed) {
      this.view.frame(this.#framed, w, hh, this.#shown ? undefined : 1);
      this.#still = { framed: this.#framed, at: this.#stands() };
    }
    this.#framed = null;
    this.#shown = true;
    this.#width = w;
    this.#height = hh;
    this.map.look();
  }

  /** Keeps the visible boxes visible in a pane of another width. */
  #fitInto(width: number): void {
    const seen = this.scene!.boxes.filter(box => this.view.holds(box, this.#width, this.#height)),
      cared = this.cared.map(name => this.drawing.named(name)?.of).filter(of => !!of) as Rect[],
      still = cared.filter(of => this.view.sees(of, this.#width, this.#height));
    this.view.pan((width - this.#width) / 2, 0);
    this.#within(around(seen), around(still));
  }

  /** Pans as little as needed to show `all`, and zooms out to 75 % at most; if that is not enough, does the same for `some`. */
  #within(all: Rect | null, some: Rect | null = all): void {
    const [w, hh] = this.size,
      least = Math.min(this.view.k, 0.75),
      zoom = (r: Rect) => Math.min(1, (w - 40) / r.w, (hh - 40) / r.h),
      r = all && zoom(all) >= least ? all : some;
    if (!r) return;
    const k = zoom(r);
    if (k < this.view.k) this.zoom(Math.max(least, k) / this.view.k);
    this.view.show(r, w, hh);
  }

  /** Brings new boxes into view, and again at another size until the user moves the camera; returns whether there is
   * something new. */
  bring(): boolean {
    const [w, hh] = this.size,
      added = this.#brought;
    if (!this.#shown || !this.#width || !added) return false;
    this.#within(around([added, ...this.scene!.boxes.filter(box => this.view.holds(box, w, hh))]), added);
    return true;
  }

  /** Removes unneeded space at the sides of the picture; returns whether it had to move. */
  fill(): boolean {
    const all = this.scene && around([...this.scene.boxes, ...this.scene.groups]);
    return !!all && this.view.fill(all, this.size[0]);
  }

  /** Forgets the new boxes, because the user has moved the camera. */
  seen(): void {
    this.#brought = null;
  }

  /** Brings boxes into view as soon as a scene shows them; the focus does not move. */
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

  /** Makes `item` the tab stop, and focuses it if requested. */
  focus(item: Item, show = true, keyboard = true): void {
    this.#rove(item.key, keyboard);
    if (show) {
      this.view.show(headOf(item.of), ...this.size);
    }
  }

  /** Remembers that `name` should keep its place in the next scene. */
  keep(name: string | null): void {
    this.#anchor = name;
  }

  fit(): void {
    if (this.scene) this.view.fit(this.scene, ...this.size);
  }
  zoom(factor: number): void {
    this.view.zoom(factor, this.size[0] / 2, this.size[1] / 2);
  }

  #rove(key: string | null, keyboard: boolean): void {
    for (const [k, item] of this.drawing.items) put(item.g, "tabindex", k === key ? "0" : "-1");
    this.#active = key;
    if (keyboard && key) focus(this.drawing.items.get(key)?.g);
  }

  #holdOn(next: Scene): { name: string; x: number; y: number } | null {
    const names = new Set([...next.boxes, ...next.groups].map(b => b.name));
    const at = (name: string | null | undefined) => {
      const item = name != null && names.has(name) ? this.drawing.named(name) : undefined;
      if (!item) return null;
      const [x, y] = entry(item.of, this.scene!.direction);
      return { name: item.of.name, x, y };
    };
    const [w, hh] = this.size,
      [x, y] = this.view.toScene(w / 2, hh / 2);
    const common = [...this.drawing.items.values()].map(i => i.of).filter(of => "kind" in of && names.has(of.name));
    return at(this.#anchor) ?? at(nearest({ x, y, w: 0, h: 0 }, common)?.name);
  }

  #looked(): void {
    const { x, y, k } = this.view;
    this.drawing.root.setAttribute("transform", `translate(${x.toFixed(2)},${y.toFixed(2)}) scale(${k.toFixed(4)})`);
    this.svg.classList.toggle("gs-far", k < FAR);
    this.drawing.far(k < FAR ? k : 0);
    this.map?.look();
    this.events.looked(this);
  }

  /** A point of the window in the picture. */
  toScene(clientX: number, clientY: number): [number, number] {
    const r = this.canvas.getBoundingClientRect();
    return this.view.toScene(clientX - r.left, clientY - r.top);
  }

  /** The position of an output of a box in the window. */
  portOnScreen(box: Box, port: number): [number, number] {
    const r = this.canvas.getBoundingClientRect(),
      [x, y] = this.view.toPane(...portOf(box, port, "output", this.scene?.direction ?? "TB"));
    return [x + r.left, y + r.top];
  }

  /** Whether a point of the window is in the picture. */
  holds({ clientX: x, clientY: y }: MouseEvent): boolean {
    const r = this.canvas.getBoundingClientRect();
    return !!r.width && x >= r.left && x < r.right && y >= r.top && y < r.bottom;
  }

  /** The element under a point of the window, even if another element has captured the pointer. */
  under({ clientX, clientY }: { clientX: number; clientY: number }): Element | null {
    return (this.canvas.getRootNode() as Document).elementFromPoint(clientX, clientY);
  }

  /** The box, group or edge of an event; by default of its target. */
  found(e: MouseEvent, target: EventTarget | null = e.target): Item | Edge | null {
    return this.drawing.at(target, this.toScene(e.clientX, e.clientY));
  }

  /** Cancels a pending move, because the user has moved the camera. */
  stay(): void {
    this.#goal = null;
    this.#sought = [];
  }
}

/** The part of an item that must be visible: all of a box, the upper part of a frame. */
function headOf(of: Box | Group): Rect {
  return "kind" in of ? of : { ...of, h: Math.min(of.h, 60) };
}
