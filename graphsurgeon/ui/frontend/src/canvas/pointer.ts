// The mouse on one pane: the effects of a press, a drag, a click and the wheel.
import { focus, consume, focused } from "../panels/dom";
import type { Overlay } from "./overlay";
import type { Position } from "../panels/parts";
import { opens, overlap, type Point } from "../state/places";
import type { Drawing, Item } from "./scene";
import type { Box, Edge, Group, Mode, Rect, Scene } from "../model/types.generated";
import type { View } from "./view";

/** An action during a drag; it shows the effect of a drop. */
export interface Drag {
  move(e: PointerEvent): void;
  /** The button was released here. */
  drop(e: PointerEvent): void;
  /** The drag was cancelled, or has ended. */
  end(): void;
}

/** Begins a drag as soon as the pointer has moved, outside the pictures; Esc cancels it. */
export function dragFrom(first: PointerEvent, begin: () => Drag): void {
  const stop = new AbortController(),
    on = { signal: stop.signal, capture: true };
  let drag: Drag | undefined;
  const end = (e: Event) => {
    stop.abort();
    if (!drag) return;
    try {
      if (e.type === "pointerup") drag.drop(e as PointerEvent);
      else consume(e);
    } finally {
      drag.end();
    }
  };
  window.addEventListener(
    "pointermove",
    e => {
      if (!drag && isClick(first, e)) return;
      drag ??= begin();
      drag.move(e);
    },
    on,
  );
  for (const name of ["pointerup", "pointercancel"]) window.addEventListener(name, end, on);
  window.addEventListener("keydown", e => e.key === "Escape" && drag && end(e), on);
}

/** Whether the pointer has not moved enough for a drag. */
function isClick(from: PointerEvent, to: PointerEvent): boolean {
  return Math.hypot(to.x - from.x, to.y - from.y) < CLICK_TOLERANCE;
}

/** The parts of its pane that it needs. */
export interface PointerTarget {
  readonly canvas: HTMLElement;
  readonly drawing: Drawing;
  readonly view: View;
  readonly scene: Scene | null;
  readonly current: Item | null;
  toScene(at: Position): Point;
  itemAt(e: MouseEvent, target?: EventTarget | null): Item | Edge | null;
  focus(item: Item, show?: boolean): void;
  /** Cancels a pending move, because the user has moved the camera. */
  cancelMove(): void;
  /** The user has panned, zoomed or framed boxes. */
  hideHint(): void;
}

export interface PointerEvents<P> {
  select(pane: P, names: string[], mode: Mode): void;
  /** Unfolds or folds: `Actions.open` sends the verb, a command of ui/commands/navigation.py. */
  open(pane: P, item: Box | Group): void;
  showEdge(pane: P, edge: Edge): void;
  /** Asks for an op to insert on an edge. */
  insertOn(pane: P, edge: Edge): void;
  /** Whether ops can be inserted now. */
  inserts(pane: P): boolean;
  menu(pane: P, of: Item | Edge, at: Position): void;
  /** A drag begins here, on a box, a port or an edge; null for the default effect of a drag. */
  drag(pane: P, e: PointerEvent): Drag | null;
}

const CLICK_TOLERANCE = 4,
  /** The height of a line, px: the unit of the wheel in some browsers. */ LINE = 20;

export class Pointer<P extends PointerTarget> {
  #drag: Drag | null = null;
  /** Space is held; whether it has panned. */
  #space: { panned: boolean } | null = null;
  #hasMoved = false;

  constructor(
    private readonly pane: P,
    private readonly events: PointerEvents<P>,
    private readonly overlay: Overlay,
  ) {
    this.#listen();
  }

  /** Cancels the current drag; returns whether there was one. */
  stop(): boolean {
    const drag = this.#drag;
    this.#drag = null;
    drag?.end();
    this.pane.canvas.classList.remove("gs-panning");
    return !!drag;
  }

  /** Space was pressed over the picture: a drag pans while it is held. False if the pointer is elsewhere. */
  pressSpace(): boolean {
    if (!this.pane.canvas.matches(":hover")) return false;
    this.#space ??= { panned: false };
    this.pane.canvas.classList.add("gs-grab");
    return true;
  }

  /** Space was released; returns whether it was only pressed, without a drag. */
  releaseSpace(): boolean {
    const space = this.#space;
    this.#space = null;
    this.pane.canvas.classList.remove("gs-grab");
    return !!space && !space.panned;
  }

  /** Whether the wheel pans: the picture has the focus, or there is nothing else that it could scroll. */
  get #ownsWheel(): boolean {
    const { canvas } = this.pane;
    return canvas.contains(focused()) || !!canvas.closest(".gs-full, #gs-host");
  }

  #begin(e: PointerEvent): Drag | null {
    const events = this.events;
    if (this.#space) this.#space.panned = true;
    else if (e.shiftKey && e.button === 0) return this.#frame(e, e.ctrlKey || e.metaKey ? "add" : "set");
    else if (e.button === 0 && e.pointerType !== "touch") return events.drag(this.pane, e) ?? this.#pan(e);
    return this.#pan(e);
  }

  #pan(first: PointerEvent): Drag {
    let last = first;
    this.pane.canvas.classList.add("gs-panning");
    return {
      move: e => {
        this.pane.view.pan(e.x - last.x, e.y - last.y);
        last = e;
      },
      drop: () => {},
      end: () => {},
    };
  }

  /** Selects the boxes that a frame touches. */
  #frame(first: PointerEvent, mode: Mode): Drag {
    const pane = this.pane,
      overlay = this.overlay;
    const { left, right, top, bottom } = pane.canvas.getBoundingClientRect();
    let last: Position = first;
    const touched = (): Box[] => {
      const [a, b] = [pane.toScene(first), pane.toScene(last)];
      const r: Rect = { x: Math.min(a[0], b[0]), y: Math.min(a[1], b[1]), w: Math.abs(a[0] - b[0]), h: Math.abs(a[1] - b[1]) };
      return (pane.scene?.boxes ?? []).filter(box => overlap(r, box));
    };
    return {
      move: e => {
        // the frame ends at the edges of the pane: boxes outside are not selected
        last = { x: Math.max(left, Math.min(right, e.x)), y: Math.max(top, Math.min(bottom, e.y)) };
        overlay.frame(first, last);
        pane.drawing.markTouched(touched());
      },
      drop: () =>
        this.events.select(
          pane,
          touched().map(box => box.name),
          mode,
        ),
      end: () => {
        pane.drawing.markTouched([]);
        overlay.clear();
      },
    };
  }

  #listen(): void {
    const pane = this.pane,
      events = this.events,
      { canvas, drawing } = pane;
    let from: PointerEvent | null = null;
    canvas.addEventListener("pointerdown", e => {
      if (e.button > 1) return;
      if (e.button === 1) e.preventDefault(); // no automatic scrolling
      from = e;
      this.#hasMoved = false;
      pane.cancelMove();
    });
    canvas.addEventListener("pointermove", e => {
      if (!from) return drawing.hover(pane.itemAt(e), events.inserts(pane) ? pane.toScene(e) : undefined);
      if (!this.#hasMoved) {
        if (isClick(from, e)) return;
        this.#hasMoved = true;
        canvas.setPointerCapture?.(from.pointerId);
        this.#drag = this.#begin(from);
      }
      this.#drag?.move(e);
    });
    const end = (e: PointerEvent) => {
      const drag = from && this.#hasMoved && e.type === "pointerup" ? this.#drag : null;
      from = null;
      drag?.drop(e);
      if (drag) pane.hideHint();
      this.stop();
    };
    canvas.addEventListener("pointerup", end);
    canvas.addEventListener("pointercancel", end);
    canvas.addEventListener("pointerleave", () => from || drawing.hover(null));
    canvas.addEventListener("click", e => {
      if (this.#hasMoved) {
        this.#hasMoved = false;
        return;
      }
      // the space between an edge and its + keeps the + visible, and is blank for a click
      const target = e.target as Element,
        found = pane.itemAt(e, target.matches(".gs-plus rect") ? drawing.root : target);
      if (found && "g" in found) {
        pane.focus(found, false);
        events.select(pane, [found.of.name], e.ctrlKey || e.metaKey ? "toggle" : e.shiftKey ? "add" : "set");
      } else if (found) {
        if (target.closest(".gs-plus") && !target.matches("rect")) events.insertOn(pane, found);
        else events.showEdge(pane, found);
      } else {
        focus(pane.current?.g);
        events.select(pane, [], "set");
      }
    });
    canvas.addEventListener("dblclick", e => {
      const found = pane.itemAt(e);
      if (found && "g" in found && opens(found.of)) events.open(pane, found.of);
    });
    canvas.addEventListener("contextmenu", e => {
      const found = pane.itemAt(e);
      if (!found) return;
      // otherwise, the notebook opens its own menu
      consume(e);
      if ("g" in found) pane.focus(found, false);
      else events.showEdge(pane, found);
      events.menu(pane, found, e);
    });
    canvas.addEventListener(
      "wheel",
      e => {
        const zooms = e.ctrlKey || e.metaKey; // a pinch on a touchpad arrives as Ctrl+wheel
        if (!zooms && !this.#ownsWheel) return;
        e.preventDefault();
        const r = canvas.getBoundingClientRect();
        if (zooms) pane.view.zoom(Math.exp(-e.deltaY * 0.002), e.x - r.left, e.y - r.top);
        else {
          const unit = e.deltaMode === 1 ? LINE : 1;
          pane.view.pan(-e.deltaX * unit, -e.deltaY * unit);
        }
        pane.hideHint();
      },
      { passive: false },
    );
  }
}
