// The overlay of the whole widget during a drag: a line, a frame, and a text at the pointer.
import { fill, s, setAttribute } from "../panels/dom";
import type { Position } from "../panels/parts";
import { make } from "../panels/vnodes";

export class Overlay {
  readonly #path = s("path", { class: "gs-over-line" });
  readonly #tip = make("div.gs-tip", { hidden: true });
  readonly #svg = s("svg", { class: "gs-over-svg" });
  readonly element: HTMLElement;

  constructor() {
    this.#svg.append(this.#path);
    this.element = make("div.gs-overlay", { "aria-hidden": true }, this.#svg, this.#tip);
  }

  /** The place of the overlay in the window; lines are cut off at the edges of the pictures. */
  #clip(): DOMRect {
    const r = this.element.getBoundingClientRect(),
      room = this.element.parentElement?.querySelector(".gs-pane-row")?.getBoundingClientRect();
    if (room?.width) {
      const [top, right, bottom, left] = [room.top - r.top, r.right - room.right, r.bottom - room.bottom, room.left - r.left];
      this.#svg.style.clipPath = `inset(${top}px ${right}px ${bottom}px ${left}px)`;
    }
    return r;
  }

  /** A frame between two points of the window. */
  frame({ x, y }: Position, { x: x2, y: y2 }: Position): void {
    const { left, top } = this.#clip();
    setAttribute(this.#path, "class", "gs-over-line gs-loop");
    setAttribute(this.#path, "d", `M${x - left},${y - top}H${x2 - left}V${y2 - top}H${x - left}Z`);
  }

  /** A curve from where a tensor leaves a box to the pointer; `down`: ports are below boxes, and not to their right. */
  wire({ x, y }: Position, to: Position, fits: boolean, down = true): void {
    const r = this.#clip(),
      [ax, ay, bx, by] = [x - r.left, y - r.top, to.x - r.left, to.y - r.top],
      // against the flow, it bends just enough to show that it leaves the port
      bend = Math.max(20, (down ? by - ay : bx - ax) / 2),
      [dx, dy] = down ? [0, bend] : [bend, 0];
    setAttribute(this.#path, "class", `gs-over-line gs-wire${fits ? " gs-good" : ""}`);
    setAttribute(this.#path, "d", `M${ax},${ay}C${ax + dx},${ay + dy} ${bx - dx},${by - dy} ${bx},${by}`);
  }

  /** Words next to the pointer: the effect of a drop, or the reason why it has none. */
  showTip(text: string, at: Position, good: boolean): void {
    const r = this.element.getBoundingClientRect();
    this.#tip.hidden = !text;
    this.#tip.classList.toggle("gs-no", !good);
    fill(this.#tip, good ? text : `\u2715 ${text}`);
    const { offsetWidth: w, offsetHeight: hh } = this.#tip;
    this.#tip.style.left = `${Math.max(4, Math.min(at.x - r.left + 14, r.width - w - 6))}px`;
    this.#tip.style.top = `${Math.min(at.y - r.top + 16, r.height - hh - 6)}px`;
  }

  clear(): void {
    this.#path.removeAttribute("d");
    this.#tip.hidden = true;
  }
}
