// The overlay of the whole widget during a drag: a line, a frame, and a text at the pointer.
import { fill, s, setAttribute } from "../panels/dom";
import { make } from "../panels/vnodes";

export type WindowPoint = { clientX: number; clientY: number };

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
  frame({ clientX: x, clientY: y }: WindowPoint, { clientX: x2, clientY: y2 }: WindowPoint): void {
    const { left, top } = this.#clip();
    setAttribute(this.#path, "class", "gs-over-line gs-loop");
    setAttribute(this.#path, "d", `M${x - left},${y - top}H${x2 - left}V${y2 - top}H${x - left}Z`);
  }

  /** A curve from where a tensor leaves a box to the pointer; `down`: ports are below boxes, and not to their right. */
  wire([x, y]: [number, number], to: WindowPoint, fits: boolean, down = true): void {
    const r = this.#clip(),
      [ax, ay, bx, by] = [x - r.left, y - r.top, to.clientX - r.left, to.clientY - r.top],
      // against the flow, it bends just enough to show that it leaves the port
      bend = Math.max(20, (down ? by - ay : bx - ax) / 2),
      [dx, dy] = down ? [0, bend] : [bend, 0];
    setAttribute(this.#path, "class", `gs-over-line gs-wire${fits ? " gs-good" : ""}`);
    setAttribute(this.#path, "d", `M${ax},${ay}C${ax + dx},${ay + dy} ${bx - dx},${by - dy} ${bx},${by}`);
  }

  /** Words next to the pointer: the effect of a drop, or the reason why it has none. */
  showTip(text: string, at: WindowPoint, good: boolean): void {
    const r = this.element.getBoundingClientRect();
    this.#tip.hidden = !text;
    this.#tip.classList.toggle("gs-no", !good);
    fill(this.#tip, good ? text : `\u2715 ${text}`);
    const { offsetWidth: w, offsetHeight: hh } = this.#tip;
    this.#tip.style.left = `${Math.max(4, Math.min(at.clientX - r.left + 14, r.width - w - 6))}px`;
    this.#tip.style.top = `${Math.min(at.clientY - r.top + 16, r.height - hh - 6)}px`;
  }

  clear(): void {
    this.#path.removeAttribute("d");
    this.#tip.hidden = true;
  }
}
