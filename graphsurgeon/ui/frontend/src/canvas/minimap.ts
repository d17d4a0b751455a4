// The map: the whole picture with a frame around the visible part. It is below the outline, or in an empty corner of the pane.
import { consume, onDrag, s, setAttribute } from "../panels/dom";
import { button } from "../panels/parts";
import { create, make } from "../panels/vnodes";
import { overlap } from "../state/places";
import type { Rect, Scene } from "../model/types.generated";
import type { Size, View } from "./view";

const WIDE = 150,
  HIGH = 120,
  LEAST = 360,
  EDGE = 12,
  AWAY = 10,
  /** space around a box for badges and chips */ AROUND = 12,
  /** the name of an open scope: its height, and about the width of a letter */ HEAD = 26,
  LETTER = 7;
const CORNERS = ["bottom right", "bottom left", "top right", "top left"] as const;

export class Minimap {
  readonly #boxes = s("path", { class: "gs-map-boxes" });
  readonly #groups = s("path", { class: "gs-map-groups" });
  readonly #visibleFrame = s("rect", { class: "gs-map-seen", rx: 2 });
  readonly #svg = s("svg", {}, undefined);
  readonly element = make(
    "div.gs-map",
    { "aria-hidden": true, hidden: true },
    this.#svg,
    // for the keyboard there is the key w
    create(
      button({
        icon: "close",
        label: "Hide the map (w)",
        kind: "quiet",
        class: "gs-map-away",
        tabindex: -1,
        onclick: () => this.setVisible(false),
      }),
    ),
  );
  /** Whether the user wants the map. */
  isWanted = true;
  #active = false;
  #corner: (typeof CORNERS)[number] = CORNERS[0];
  #scene: Scene | null = null;
  #k = 1;

  constructor(
    private readonly view: View,
    private readonly size: () => Size,
  ) {
    this.#svg.append(this.#groups, this.#boxes, this.#visibleFrame);
    const go = (e: PointerEvent) => {
      const r = this.#svg.getBoundingClientRect(),
        [w, hh] = this.size(),
        k = this.view.k;
      this.view.pan(w / 2 - this.view.x - ((e.x - r.left) / this.#k) * k, hh / 2 - this.view.y - ((e.y - r.top) / this.#k) * k);
    };
    // the pane below must not pan
    for (const name of ["click", "dblclick", "contextmenu"]) this.element.addEventListener(name, e => e.stopPropagation());
    onDrag(this.element, e => {
      if ((e.target as Element).closest("button")) {
        e.stopPropagation();
        return null;
      }
      consume(e);
      go(e);
      return go;
    });
  }

  /** Shows or hides it. */
  setVisible(yes: boolean): void {
    this.isWanted = yes;
    this.update();
  }

  /** Whether its pane is the active one. */
  setActive(active: boolean): void {
    if (active === this.#active) return;
    this.#active = active;
    this.update();
  }

  /** Moves the map to another element. */
  dockIn(home: HTMLElement): void {
    if (this.element.parentElement !== home) home.append(this.element);
    this.update();
  }

  get #isDocked(): boolean {
    return this.element.parentElement?.classList.contains("gs-dock") ?? false;
  }

  /** The part of the pane that it covers. */
  get covered(): Rect | null {
    return this.#scene && !this.#isDocked && !this.element.hidden ? this.#in(this.#corner, this.#scene) : null;
  }

  #in(corner: (typeof CORNERS)[number], scene: Scene): Rect {
    const [w, hh] = this.size(),
      wide = scene.w * this.#k + EDGE,
      high = scene.h * this.#k + EDGE;
    return {
      x: corner.endsWith("right") ? w - AWAY - wide : AWAY,
      y: corner.startsWith("bottom") ? hh - AWAY - high : AWAY,
      w: wide,
      h: high,
    };
  }

  /** A corner of the pane in which it covers no box and no name of a scope, preferably the current corner. */
  #free(scene: Scene): (typeof CORNERS)[number] | undefined {
    const { x, y, k } = this.view;
    const taken = [
      ...scene.boxes.map(b => ({ x: b.x - AROUND, y: b.y - AROUND, w: b.w + 2 * AROUND, h: b.h + 2 * AROUND })),
      ...scene.groups.map(g => ({ x: g.x, y: g.y, w: Math.min(g.w, 2 * AROUND + g.label.length * LETTER), h: HEAD })),
      ...scene.groups.filter(g => g.state).map(g => ({ x: g.x + g.w - AROUND, y: g.y - AROUND, w: 2 * AROUND, h: 2 * AROUND })),
    ];
    return [this.#corner, ...CORNERS].find(corner => {
      const at = this.#in(corner, scene);
      return !taken.some(b => overlap(at, { x: b.x * k + x, y: b.y * k + y, w: b.w * k, h: b.h * k }));
    });
  }

  /** Draws the boxes of a scene in small. */
  draw(scene: Scene | null): void {
    if (scene === this.#scene) return this.update();
    this.#scene = scene;
    if (scene) {
      this.#k = Math.min(WIDE / scene.w, HIGH / scene.h);
      const path = (all: { x: number; y: number; w: number; h: number }[]) =>
        all
          .map(
            b =>
              `M${n(b.x * this.#k)},${n(b.y * this.#k)}h${n(Math.max(1, b.w * this.#k))}v${n(Math.max(1, b.h * this.#k))}h${n(-Math.max(1, b.w * this.#k))}z`,
          )
          .join("");
      setAttribute(this.#boxes, "d", path(scene.boxes));
      setAttribute(this.#groups, "d", path(scene.groups));
      setAttribute(this.#svg, "width", n(Math.max(4, scene.w * this.#k)));
      setAttribute(this.#svg, "height", n(Math.max(4, scene.h * this.#k)));
    }
    this.update();
  }

  /** Frames the visible part. The map is only shown while a part of the picture is not visible. */
  update(): void {
    const scene = this.#scene;
    if (!scene) return void (this.element.hidden = true);
    const [w, hh] = this.size(),
      view = this.view,
      k = this.#k;
    const all = view.x >= -2 && view.y >= -2 && view.x + scene.w * view.k <= w + 2 && view.y + scene.h * view.k <= hh + 2;
    const away = all || !this.isWanted || (this.#isDocked ? !this.#active : w < LEAST || hh < HIGH * 1.6),
      free = away || this.#isDocked ? this.#corner : this.#free(scene);
    this.element.hidden = away || !free;
    if (this.element.hidden) return;
    this.#corner = free!;
    this.element.dataset.corner = this.#corner;
    const [x0, y0] = view.toScene(0, 0),
      [x1, y1] = view.toScene(w, hh);
    const cut = (v: number, most: number) => Math.max(0, Math.min(most, v)),
      left = cut(x0, scene.w),
      top = cut(y0, scene.h);
    for (const [name, value] of Object.entries({
      x: left * k,
      y: top * k,
      width: Math.max(3, (cut(x1, scene.w) - left) * k),
      height: Math.max(3, (cut(y1, scene.h) - top) * k),
    }))
      setAttribute(this.#visibleFrame, name, n(value));
  }
}

function n(x: number): string {
  return x.toFixed(1);
}
