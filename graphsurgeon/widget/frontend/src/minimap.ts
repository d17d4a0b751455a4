// The map in the corner of a pane: the whole picture, and the part of it that is seen. A look is chosen on it by pointing.
import { h, handled, s } from "./dom";
import type { Scene } from "./types";
import type { View } from "./view";

const WIDE = 150,
  HIGH = 120,
  LEAST = 360;

export class Minimap {
  readonly #boxes = s("path", { class: "gs-map-boxes" });
  readonly #groups = s("path", { class: "gs-map-groups" });
  readonly #seen = s("rect", { class: "gs-map-seen", rx: 2 });
  readonly #svg = s("svg", {}, undefined);
  readonly element = h("div", { class: "gs-map", "aria-hidden": "true", hidden: true }, this.#svg);
  /** Whether the person wants it. */
  wanted = true;
  #scene: Scene | null = null;
  #k = 1;

  constructor(
    private readonly view: View,
    private readonly size: () => [number, number],
  ) {
    this.#svg.append(this.#groups, this.#boxes, this.#seen);
    let held = false;
    const go = (e: PointerEvent) => {
      const r = this.#svg.getBoundingClientRect(),
        [w, hh] = this.size(),
        k = this.view.k;
      this.view.pan(w / 2 - this.view.x - ((e.clientX - r.left) / this.#k) * k, hh / 2 - this.view.y - ((e.clientY - r.top) / this.#k) * k);
    };
    // the pane below must not begin to pan
    for (const name of ["click", "dblclick", "contextmenu"]) this.element.addEventListener(name, e => e.stopPropagation());
    this.element.addEventListener("pointerdown", e => {
      handled(e);
      held = true;
      this.element.setPointerCapture?.(e.pointerId);
      go(e);
    });
    this.element.addEventListener("pointermove", e => {
      if (held) go(e);
    });
    for (const name of ["pointerup", "pointercancel"])
      this.element.addEventListener(name, () => {
        held = false;
      });
  }

  /** Draws the boxes of a scene, small. */
  draw(scene: Scene | null): void {
    if (scene === this.#scene) return this.look();
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
      this.#boxes.setAttribute("d", path(scene.boxes));
      this.#groups.setAttribute("d", path(scene.groups));
      this.#svg.setAttribute("width", n(Math.max(4, scene.w * this.#k)));
      this.#svg.setAttribute("height", n(Math.max(4, scene.h * this.#k)));
    }
    this.look();
  }

  /** Frames what is seen; the map is there only while a part of the picture is out of sight. */
  look(): void {
    const [w, hh] = this.size(),
      scene = this.#scene,
      view = this.view,
      k = this.#k;
    const all = !scene || (view.x >= -2 && view.y >= -2 && view.x + scene.w * view.k <= w + 2 && view.y + scene.h * view.k <= hh + 2);
    this.element.hidden = all || !this.wanted || w < LEAST || hh < HIGH * 1.6;
    if (this.element.hidden || !scene) return;
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
      this.#seen.setAttribute(name, n(value));
  }
}

function n(x: number): string {
  return x.toFixed(1);
}
