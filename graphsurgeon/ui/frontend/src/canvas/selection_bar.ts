// The bar at the selection: its most frequent actions, for the mouse. The keyboard has keys for them.
import { button } from "../panels/parts";
import { draw, h, make } from "../panels/vnodes";
import type { Choice } from "../panels/popup";
import { overlap, type Point } from "../state/places";
import type { Rect, Scene } from "../model/types.generated";
import type { Size, View } from "./view";

/** The space between the bar and what it is about, px. */
const GAP = 10,
  /** the height of the name of an open scope */ HEAD = 26,
  /** the distance of the places that are tried, px */ STEP = 24,
  /** the maximum distance from what it is about, px */ FAR = 120;

export class SelectionBar {
  readonly element = make("div");
  #at: Rect | null = null;
  #texts = "";
  #size: [number, number] = [0, 0];

  constructor() {
    this.offer(null, []);
    this.element.addEventListener("mousedown", e => e.preventDefault()); // the focus stays in the picture
    // the pane below must not pan, select or open its menu
    for (const name of ["pointerdown", "click", "dblclick", "contextmenu"]) this.element.addEventListener(name, e => e.stopPropagation());
  }

  /** Offers actions for a part of the picture; without any, the bar is hidden. */
  offer(at: Rect | null, choices: readonly Choice[]): void {
    this.#at = choices.length ? at : null;
    draw(
      this.element,
      h(
        "div.gs-selection-bar",
        { role: "toolbar", "aria-label": "Actions for the selection", hidden: !this.#at },
        choices.map(({ text, key, verb, off, run }) =>
          button({ text, kind: "quiet", title: key && `${text} (${key})`, verb, tabindex: -1, disabled: off, onclick: run }),
        ),
      ),
    );
    const texts = choices.map(c => c.text).join();
    if (texts !== this.#texts) this.#size = [0, 0];
    this.#texts = texts;
  }

  /** Moves the bar to a free place: at a side of its part of the picture, or else as near as possible, or else at the bottom or top
   * of the pane. It covers no box, no heading and not the map: without a free place, it is not shown. */
  place(scene: Scene, view: View, [width, height]: Size, map: Rect | null = null): void {
    if (!this.#at || !width) return;
    if (!this.#size[0]) this.#size = [this.element.offsetWidth, this.element.offsetHeight];
    const [w, hh] = this.#size,
      inPane = (r: Rect): Rect => {
        const [x, y] = view.toPane(r.x, r.y);
        return { x, y, w: r.w * view.k, h: r.h * view.k };
      },
      r = inPane(this.#at),
      middle = r.x + (r.w - w) / 2,
      taken = [...[...scene.boxes, ...scene.groups.map(group => ({ ...group, h: HEAD }))].map(inPane), ...(map ? [map] : [])],
      free = ([x, y]: Point) =>
        x >= 0 && y >= 0 && x + w <= width && y + hh <= height && !taken.some(other => overlap({ x, y, w, h: hh }, other));
    const sides: Point[] = [
      [middle, r.y - hh - GAP],
      [middle, r.y + r.h + GAP],
      [r.x + r.w + GAP, r.y],
      [r.x - w - GAP, r.y],
    ];
    const away = (x: number, left: number, right: number) => Math.max(left - x, x - right, 0),
      steps = (to: number) => Array.from({ length: Math.ceil(to / STEP) }, (_, i) => i * STEP + GAP);
    const borders = [height - hh - GAP, GAP].flatMap(y => [(width - w) / 2, GAP, width - w - GAP].map((x): Point => [x, y]));
    /** The places near it, the nearest first. */
    const others = () =>
      steps(width - w)
        .flatMap(x => steps(height - hh).map((y): Point => [x, y]))
        .map(at => [at, Math.hypot(away(at[0], r.x - w, r.x + r.w), away(at[1], r.y - hh, r.y + r.h))] as const)
        .filter(([, far]) => far < FAR)
        .sort(([, a], [, b]) => a - b)
        .map(([at]) => at);
    const found = overlap(r, { x: 0, y: 0, w: width, h: height }) && (sides.find(free) ?? [...others(), ...borders].find(free));
    this.element.style.visibility = found ? "" : "hidden";
    if (found) this.element.style.transform = `translate(${found.map(v => `${Math.round(v)}px`).join()})`;
  }
}
