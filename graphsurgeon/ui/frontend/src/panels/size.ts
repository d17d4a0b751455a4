// The size of the widget: its stored height, the full window, or all of a separate output view.
import { focus, consume, focused, onDrag, setAttribute } from "./dom";
import { make } from "./vnodes";
import { load, store } from "../state/stored";

const KEY = "graphsurgeon.height",
  LEAST = 360,
  STEP = 40;

export class WidgetSize {
  /** The edge at the bottom, which is moved by a drag or by arrow keys. */
  readonly grip = make("div.gs-grip", {
    role: "separator",
    "aria-orientation": "horizontal",
    "aria-label": "Height of the widget",
    "aria-valuemin": LEAST,
    tabindex: 0,
    title: "Drag to change the height; double-click to reset",
  });
  #view: Element | null = null;
  #observer: ResizeObserver | null = null;

  constructor(
    private readonly root: HTMLElement,
    /** Whether the page has only the widget: then the page sets the height. */ private readonly still: boolean,
    private readonly onChange: (full: boolean) => void,
  ) {
    if (!still) this.#set(storedHeight());
    const begin = ({ button, clientY }: PointerEvent) => {
      const height = root.offsetHeight;
      return button ? null : (e: PointerEvent) => this.#set(height + e.clientY - clientY);
    };
    onDrag(this.grip, begin, () => storeHeight(root.offsetHeight));
    this.grip.addEventListener("dblclick", () => {
      this.#set(0);
      storeHeight(0);
    });
    this.grip.addEventListener("keydown", e => {
      const by = { ArrowUp: -STEP, ArrowDown: STEP }[e.key];
      if (!by) return;
      consume(e);
      this.#set(root.offsetHeight + by);
      storeHeight(root.offsetHeight);
    });
  }

  get full(): boolean {
    return this.root.matches(".gs-full");
  }

  /** Switches full screen on or off; in the top layer, because elements around a cell may clip it. */
  fill(on = !this.full): void {
    const root = this.root,
      held = focused();
    if (on === this.full) return;
    root.classList.toggle("gs-full", on);
    if (on) {
      setAttribute(root, "popover", "manual");
      root.showPopover?.();
    } else {
      root.hidePopover?.();
      root.removeAttribute("popover");
    }
    if (held && root.contains(held)) focus(held);
    this.onChange(on);
  }

  /** Called once the widget is on the page: in a separate output view it takes all space. */
  attach(): void {
    setAttribute(this.grip, "aria-valuenow", this.root.offsetHeight);
    const view = this.still || this.#view ? null : this.root.closest(".jp-LinkedOutputView");
    if (!view) return;
    this.#view = view;
    this.root.classList.add("gs-own-view");
    this.#observer = new ResizeObserver(() => {
      const above = this.root.getBoundingClientRect().top - view.getBoundingClientRect().top + view.scrollTop;
      if (!this.full) this.root.style.height = `${Math.max(LEAST, view.clientHeight - above - 8)}px`;
    });
    this.#observer.observe(view);
  }

  stop(): void {
    this.#observer?.disconnect();
  }

  /** Sets the height in px; 0 for the height of the style sheet. */
  #set(height: number): void {
    this.root.style.height = height ? `${Math.max(LEAST, Math.round(height))}px` : "";
  }
}

function storedHeight(): number {
  return Math.min(Number(load(KEY)) || 0, 2 * window.innerHeight);
}

function storeHeight(height: number): void {
  store(KEY, height ? String(height) : null);
}
