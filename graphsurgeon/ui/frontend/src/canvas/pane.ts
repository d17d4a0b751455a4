// A pane: a drawing, its view, and the mouse. Its owner receives the box, port or edge at the pointer, and decides what to do.
import type { Camera } from "../state/cameras";
import { fill, focus, hasFocus, setAttribute, s } from "../panels/dom";
import { button, type Position } from "../panels/parts";
import { create, h, make } from "../panels/vnodes";
import { around, entry, fresh, nearest, type Point } from "../state/places";
import { load, store } from "../state/stored";
import { Minimap } from "./minimap";
import type { Overlay } from "./overlay";
import { Pointer, type PointerEvents } from "./pointer";
import { Drawing, type Item, MOTION } from "./scene";
import { SelectionBar } from "./selection_bar";
import { portOf } from "./shapes";
import type { Box, Edge, Group, PaneName, Rect, Scene } from "../model/types.generated";
import type { Choice } from "../panels/popup";
import { type Size, type Transform, View } from "./view";

export interface PaneEvents extends PointerEvents<Pane> {
  move(pane: Pane): void;
  /** The pane is the active one now; it has the focus on a box if `onBox` is true. */
  paneFocused(pane: Pane, onBox: boolean): void;
  toggleAlone(pane: Pane): void;
}

const FAR = 0.3,
  NONE: Size = [0, 0],
  /** The height of the row of the boundary, px. */ ROW = 48,
  HINT = "Drag, or click and wheel, to move \u00b7 Ctrl+wheel to zoom \u00b7 Shift+drag to select",
  /** The setting that the user has moved or zoomed a picture in this browser. */ NAVIGATED = "graphsurgeon.navigated";

/** Whether the user prefers reduced motion. */
function calm(): boolean {
  return typeof matchMedia !== "function" || matchMedia("(prefers-reduced-motion: reduce)").matches;
}

export class Pane {
  readonly drawing = new Drawing();
  readonly view = new View(() => this.#onViewChange());
  readonly svg = s("svg", { class: "gs-svg", role: "tree", "aria-multiselectable": "true" });
  readonly element: HTMLElement;
  readonly #title = make("div.gs-pane-name");
  readonly #alone = create(
    button({
      icon: "full",
      label: "Only this pane",
      kind: "quiet",
      "aria-pressed": false,
      onclick: () => this.events.toggleAlone(this),
    }),
  );
  readonly #empty = make("div.gs-empty");
  readonly #hint = create(h("div.gs-hint", { "aria-hidden": true, hidden: !!load(NAVIGATED) }, HINT));
  readonly canvas: HTMLElement;
  readonly map: Minimap;
  readonly bar = new SelectionBar();
  readonly pointer: Pointer<Pane>;
  #active: string | null = null;
  #anchor: string | null = null;
  #goal: { name: string; focus: boolean; read: boolean } | null = null;
  /** The boxes to bring into view as soon as the pane has a size. */
  #frameTarget: Rect | null = null;
  /** The new boxes to bring into view. */
  #newBoxes: Rect | null = null;
  /** The camera before the pane changed its size, and after it; a further change of size starts from the first one. */
  #sizeBase: { camera: Camera; at: string } | null = null;
  #lookTargets: string[] = [];
  /** Names of boxes that stay visible when the pane changes its width. */
  keepVisible: string[] = [];
  #hasView = false;
  /** The movement of the camera. */
  #gliding: Animation | undefined;
  /** Whether it is moved with an animation now. */
  isGliding = false;
  /** The camera that the user has not moved since the first view. */
  #first = "";
  /** The size that the view was made for. */
  #seen: Size = NONE;
  /** The size, once it is read; 0 if the pane is not shown. Reading it makes the browser lay out the page. */
  #size: Size = NONE;

  constructor(
    readonly name: PaneName,
    private readonly events: PaneEvents,
    overlay: Overlay,
  ) {
    this.svg.append(this.drawing.root);
    this.map = new Minimap(this.view, () => this.size);
    this.canvas = make("div.gs-canvas", {}, this.svg, this.#empty, this.map.element, this.#hint, this.bar.element);
    this.element = make(
      `section.gs-pane.gs-pane-${name}`,
      { "aria-label": name },
      make("div.gs-pane-title", {}, this.#title, this.#alone),
      this.canvas,
    );
    this.pointer = new Pointer(this, events, overlay);
    // on the HTML element: a focus listener on an <svg> makes it a separate tab stop
    this.canvas.addEventListener("focusin", e => {
      const found = this.drawing.itemAt(e.target);
      const onBox = !!found && "g" in found;
      if (onBox && found.of.name !== this.#active) this.#rove(found.of.name, false);
      events.paneFocused(this, onBox);
    });
  }

  /** The user has panned, zoomed or framed boxes. */
  hideHint(): void {
    if (this.#hint.hidden) return;
    this.#hint.hidden = true;
    store(NAVIGATED, "yes");
  }

  /** Whether only this pane is shown although there is room for two. */
  alone(yes: boolean): void {
    setAttribute(this.#alone, "aria-pressed", yes);
  }

  get scene(): Scene | null {
    return this.drawing.scene;
  }
  get size(): Size {
    if (!this.#size[0]) this.#size = [this.canvas.clientWidth, this.canvas.clientHeight];
    return this.#size;
  }

  /** Reads the size anew when it is needed next. */
  forgetSize(): void {
    this.#size = NONE;
  }

  /** Its view of the picture. */
  get camera(): Camera {
    return { x: this.view.x, y: this.view.y, k: this.view.k, size: this.#seen };
  }

  #setCamera({ x, y, k, size }: Camera): void {
    this.view.moveTo(x, y, k);
    this.#seen = size;
  }

  /** Shows a scene with the camera `back`, or so that the clicked box, or the box in the middle, keeps its place.
   * A pane goes to new boxes; by `bring` if it follows the camera of another pane. */
  update(scene: Scene | null, title: string, follows = false, back?: Camera): void {
    fill(this.#title, title);
    this.#title.title = title.slice(0, 300);
    setAttribute(this.svg, "aria-label", `${this.name} graph ${title}`.slice(0, 300));
    this.element.classList.toggle("gs-nothing", !scene?.boxes.length);
    const none = this.name === "source" ? "The graph cannot be drawn (see status). The outline lists its ops." : "";
    fill(this.#empty, !scene ? none : scene.boxes.length ? "" : "This graph has no ops.");
    if (!scene) {
      // the next scene gets a new first view
      this.drawing.scene = null;
      this.#hasView = false;
      this.map.draw(null);
      return;
    }
    const hadFocus = hasFocus(this.svg),
      isFirst = this.#first === this.#cameraKey(),
      anew = this.drawing.scene !== scene,
      oldPositions = anew && this.#hasView && !calm() ? this.drawing.positions() : null,
      from = { x: this.view.x, y: this.view.y, k: this.view.k };
    const still = this.drawing.scene ? this.#fixedPoint(scene) : null;
    const old = this.drawing.scene;
    if (anew) this.#sizeBase = null;
    const added = this.drawing.scene === scene ? null : around(fresh(this.drawing.scene, scene));
    this.drawing.draw(scene);
    if (anew) this.#newBoxes = follows && !back ? added : null;
    if (back) {
      this.#setCamera(back);
      this.#hasView = true;
      this.#sizeBase = { camera: back, at: this.#cameraKey() };
    } else if (added && !follows) this.#frameTarget = added;
    else if (still && !this.#newBoxes) {
      const [x, y] = entry(this.drawing.find(still.name)!.of, scene.direction);
      this.view.pan((still.x - x) * this.view.k, (still.y - y) * this.view.k);
    }
    if (isFirst) this.#first = this.#cameraKey();
    // if the picture has shrunk out of view, a new view is chosen; a box that the user folded keeps its place
    if (this.#seen[0] && old && !back && !this.#anchor && !scene.boxes.some(box => this.view.sees(box, this.#seen))) this.#hasView = false;
    const opened = anew && this.#anchor ? this.drawing.find(this.#anchor)?.of : undefined;
    if (anew) this.#anchor = null;
    const { items } = this.drawing;
    this.#rove(this.#active !== null && items.has(this.#active) ? this.#active : (items.keys().next().value ?? null), hadFocus);
    this.#applySize();
    // an opened box is made visible with its contents, if there is space
    if (opened && this.#seen[0]) this.view.show(opened, this.#seen);
    this.#arrive();
    this.#seek();
    this.map.draw(scene);
    if (oldPositions) this.drawing.moveFrom(oldPositions, from, this.view, r => this.view.sees(r, this.size));
  }

  /** Shows a saved view. */
  lookFrom(at: readonly number[]): void {
    const [x, y, k] = at;
    if (x !== undefined && y !== undefined && k) queueMicrotask(() => this.view.moveTo(x, y, k));
  }

  /** Goes to `name` as soon as a scene shows it; with `read`, zoomed in so that it is readable. */
  goTo(name: string, focus: boolean, read = focus): void {
    this.#goal = { name, focus, read };
  }

  /** Goes to the goal if the scene now shows it; the pane becomes the active one. */
  arrive(): void {
    this.events.paneFocused(this, false);
    this.glide(() => this.#arrive());
  }

  #arrive(): void {
    const item = this.#goal && this.drawing.find(this.#goal.name);
    if (!this.#goal || !item) return;
    // the target must be large enough to read
    if (this.#goal.read && this.view.k < 0.5) this.#zoom(0.75 / this.view.k);
    this.#rove(item.of.name, this.#goal.focus);
    this.view.centre(headOf(item.of), this.size);
    this.#goal = null;
  }

  #cameraKey(): string {
    return [this.view.x, this.view.y, this.view.k].join();
  }

  /** Sets the first view once the pane has a size. At another size, the scale stays, and what is in view stays in view. If the whole
   * widget gets another width, `anew` chooses the first view again until the user moves the camera. */
  updateSize(anew = false): void {
    this.forgetSize();
    this.#applySize(anew);
  }

  #applySize(anew = false): void {
    const { size } = this,
      [w, high] = size,
      isFirst = this.#first === this.#cameraKey(),
      isSame = () => size.join() === this.#seen.join();
    if (!this.scene || !w || !high) return;
    if (!this.#hasView || (anew && isFirst)) this.view.first(this.scene, size);
    else if (!isSame()) {
      // a pane that gets its old size back gets its camera back, unless the user has moved it since
      if (this.#sizeBase?.at === this.#cameraKey()) this.#setCamera(this.#sizeBase.camera);
      else this.#sizeBase = { camera: this.camera, at: "" };
      // the row of the boundary comes and goes below the picture, which does not move under the pointer
      if (w !== this.#seen[0] || Math.abs(high - this.#seen[1]) > ROW) this.#fitInto(w);
      this.#sizeBase.at = this.#cameraKey();
    }
    if (!this.#hasView || isFirst) this.#first = this.#cameraKey();
    if (this.#frameTarget) this.view.centre(this.#frameTarget, size);
    this.#frameTarget = null;
    this.#hasView = true;
    this.#seen = size;
    this.map.update();
    this.#placeBar();
  }

  /** Keeps the visible boxes in view in a pane of another size; else those that the user works with, or the box that keys act on. */
  #fitInto(width: number): void {
    const { scene, view } = this,
      old = this.#seen,
      seen = scene!.boxes.filter(box => view.contains(box, old)),
      still = [this.keepVisible, [this.current?.of.name ?? ""]].map(names =>
        around(names.flatMap(name => this.drawing.find(name)?.of ?? []).filter(of => view.sees(of, old))),
      );
    view.pan((width - old[0]) / 2, 0);
    this.#within(around(seen), ...still);
  }

  /** Pans as little as needed to show the first of some rectangles that has enough space, or the beginning of the last; the scale stays. */
  #within(...rects: (Rect | null)[]): void {
    const all = rects.filter(r => !!r),
      r = all.find(one => this.view.fits(one, this.size)) ?? all.at(-1);
    if (r) this.view.show(r, this.size);
  }

  /** Brings new boxes into view, and again at another size until the user moves the camera; returns whether there is
   * something new. */
  bring(): boolean {
    const added = this.#newBoxes;
    if (!this.#hasView || !added) return false;
    this.#within(around([added, ...this.scene!.boxes.filter(box => this.view.contains(box, this.size))]), added);
    return true;
  }

  /** Removes unneeded space at the sides of the picture; returns whether it had to move. */
  fill(): boolean {
    const all = this.scene && around([...this.scene.boxes, ...this.scene.groups]);
    return !!all && this.view.fill(all, this.size[0]);
  }

  /** Forgets the new boxes, because the user has moved the camera. */
  dropNewBoxes(): void {
    this.#newBoxes = null;
  }

  /** Brings boxes into view as soon as a scene shows them; the focus does not move. */
  lookAt(names: string[]): void {
    this.#lookTargets = names;
    this.glide(() => this.#seek());
  }

  /** Moves the camera, with an animation if the user allows motion. */
  glide(move: () => void): void {
    const { x, y, k } = this.view,
      at = (t: Transform) => ({ transform: `translate(${t.x}px,${t.y}px) scale(${t.k})` });
    this.isGliding = true;
    move();
    this.isGliding = false;
    if (calm() || !this.scene || (x === this.view.x && y === this.view.y && k === this.view.k)) return;
    this.#gliding = this.drawing.root.animate?.([at({ x, y, k }), at(this.view)], MOTION);
  }

  #seek(): void {
    const there = this.#lookTargets.map(name => this.drawing.find(name)?.of).filter(of => !!of) as Rect[];
    if (!this.scene || !this.#hasView || !there.length) return;
    this.#lookTargets = [];
    this.#within(around(there), nearest(this.#middle, there));
  }

  /** The point of the picture in the middle of the pane. */
  get #middle(): Rect {
    const [w, hh] = this.size,
      [x, y] = this.view.toScene(w / 2, hh / 2);
    return { x, y, w: 0, h: 0 };
  }

  /** Shows actions at a part of the picture. */
  offer(at: Rect | null, choices: readonly Choice[]): void {
    this.bar.offer(at, choices);
    this.#placeBar();
  }

  #placeBar(): void {
    if (this.scene) this.bar.place(this.scene, this.view, this.size, this.map.covered);
  }

  /** The item that keys act on. */
  get current(): Item | null {
    return this.drawing.items.get(this.#active ?? "") ?? null;
  }

  /** Makes `item` the tab stop, and focuses it. */
  focus(item: Item, show = true): void {
    this.#rove(item.of.name, true);
    if (show) this.glide(() => this.view.show(headOf(item.of), this.size));
  }

  /** Shows the selected edge; an edge that is deselected returns the focus to its box. */
  chooseEdge(edge: Edge | null): void {
    const had = hasFocus(this.drawing.edge);
    this.drawing.chooseEdge(edge);
    if (had && !this.drawing.edge.isConnected) focus(this.current?.g);
  }

  /** Remembers that `name` should keep its place in the next scene. */
  keep(name: string | null): void {
    this.#anchor = name;
  }

  fit(): void {
    const { scene } = this;
    if (scene) this.glide(() => this.view.fit(scene, this.size));
  }
  zoom(factor: number): void {
    this.glide(() => this.#zoom(factor));
  }

  #zoom(factor: number): void {
    this.view.zoom(factor, this.size[0] / 2, this.size[1] / 2);
  }

  #rove(name: string | null, keyboard: boolean): void {
    for (const [key, item] of this.drawing.items) setAttribute(item.g, "tabindex", key === name ? "0" : "-1");
    this.#active = name;
    if (keyboard) focus(this.current?.g);
  }

  #fixedPoint(next: Scene): { name: string; x: number; y: number } | null {
    const names = new Set([...next.boxes, ...next.groups].map(b => b.name));
    const at = (name: string | null | undefined) => {
      const item = name != null && names.has(name) ? this.drawing.find(name) : undefined;
      if (!item) return null;
      const [x, y] = entry(item.of, this.scene!.direction);
      return { name: item.of.name, x, y };
    };
    const common = [...this.drawing.items.values()].map(i => i.of).filter(of => "kind" in of && names.has(of.name));
    return at(this.#anchor) ?? at(nearest(this.#middle, common)?.name);
  }

  #onViewChange(): void {
    const { x, y, k } = this.view;
    setAttribute(this.drawing.root, "transform", `translate(${x.toFixed(2)},${y.toFixed(2)}) scale(${k.toFixed(4)})`);
    this.svg.classList.toggle("gs-far", k < FAR);
    this.drawing.far(k < FAR ? k : 0);
    if (!this.isGliding) this.#gliding?.cancel();
    this.map?.update();
    this.#placeBar();
    this.events.move(this);
  }

  /** A point of the window in the picture. */
  toScene({ x, y }: Position): Point {
    const r = this.canvas.getBoundingClientRect();
    return this.view.toScene(x - r.left, y - r.top);
  }

  /** The position of an output of a box in the window. */
  portOnScreen(box: Box, port: number): Position {
    const r = this.canvas.getBoundingClientRect(),
      [x, y] = this.view.toPane(...portOf(box, port, "output", this.scene?.direction ?? "TB"));
    return { x: x + r.left, y: y + r.top };
  }

  /** Whether a point of the window is in the picture. */
  contains({ x, y }: Position): boolean {
    const r = this.canvas.getBoundingClientRect();
    return !!r.width && x >= r.left && x < r.right && y >= r.top && y < r.bottom;
  }

  /** The element under a point of the window, even if another element has captured the pointer. */
  elementAt({ x, y }: Position): Element | null {
    return (this.canvas.getRootNode() as Document).elementFromPoint(x, y);
  }

  /** The box, group or edge of an event; by default of its target. */
  itemAt(e: MouseEvent, target: EventTarget | null = e.target): Item | Edge | null {
    return this.drawing.itemAt(target, this.toScene(e));
  }

  /** Cancels a pending move, because the user has moved the camera. */
  cancelMove(): void {
    this.#goal = null;
    this.#lookTargets = [];
  }
}

/** The part of an item that must be visible: all of a box, the upper part of a frame. */
function headOf(of: Box | Group): Rect {
  return "kind" in of ? of : { ...of, h: Math.min(of.h, 60) };
}
