// What is drawn over the whole widget while something is dragged: a line, a frame, and words at the pointer.
import { fill, h, s } from "./dom";

type Point = { clientX: number; clientY: number };

export class Over {
  readonly #path = s("path", { class: "gs-over-line" });
  readonly #tip = h("div", { class: "gs-tip", hidden: true });
  readonly element: HTMLElement;

  constructor() {
    const svg = s("svg", { class: "gs-over-svg" });
    svg.append(this.#path);
    this.element = h("div", { class: "gs-overlay", "aria-hidden": "true" }, svg, this.#tip);
  }

  /** A line through points of the window. */
  draw(points: [number, number][], kind: string, closed = false): void {
    const r = this.element.getBoundingClientRect();
    this.#path.setAttribute("class", `gs-over-line ${kind}`);
    this.#path.setAttribute("d", points.map(([x, y], i) => `${i ? "L" : "M"}${x - r.left},${y - r.top}`).join("") + (closed ? "Z" : ""));
  }

  /** A frame between two points. */
  frame({ clientX: x, clientY: y }: Point, { clientX: x2, clientY: y2 }: Point): void {
    this.draw(
      [
        [x, y],
        [x2, y],
        [x2, y2],
        [x, y2],
      ],
      "gs-loop",
      true,
    );
  }

  /** A curve from where a tensor leaves a box to the pointer. */
  wire([x, y]: [number, number], to: Point, fits: boolean): void {
    const r = this.element.getBoundingClientRect(),
      bend = Math.max(20, Math.abs(to.clientY - y) / 2);
    this.#path.setAttribute("class", `gs-over-line gs-wire${fits ? " gs-good" : ""}`);
    const [ax, ay, bx, by] = [x - r.left, y - r.top, to.clientX - r.left, to.clientY - r.top];
    this.#path.setAttribute("d", `M${ax},${ay}C${ax},${ay + bend} ${bx},${by - bend} ${bx},${by}`);
  }

  /** Words beside the pointer: what would come of it, or why nothing would. */
  say(text: string, at: Point, good: boolean): void {
    const r = this.element.getBoundingClientRect();
    this.#tip.hidden = !text;
    this.#tip.classList.toggle("gs-no", !good);
    fill(this.#tip, `${good ? "\u2713" : "\u2715"} ${text}`);
    const { offsetWidth: w, offsetHeight: hh } = this.#tip;
    this.#tip.style.left = `${Math.max(4, Math.min(at.clientX - r.left + 14, r.width - w - 6))}px`;
    this.#tip.style.top = `${Math.min(at.clientY - r.top + 16, r.height - hh - 6)}px`;
  }

  clear(): void {
    this.#path.removeAttribute("d");
    this.#tip.hidden = true;
  }
}
