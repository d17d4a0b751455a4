// The size of the widget: its stored height, the full window, or all of a separate output view.
import { focus, consume, focused, onDrag, setAttribute } from "./dom";
import { make } from "./vnodes";
import { load, store } from "../state/stored";

const KEY = "graphsurgeon.height",
  LEAST = 360,
  STEP = 40;

export type WidgetSize = ReturnType<typeof widgetSize>;

/** Makes the size adjustable. */
export function widgetSize(
  root: HTMLElement,
  /** Whether the page has only the widget: then the page sets the height. */ still: boolean,
  onChange: (full: boolean) => void,
) {
  /** The edge at the bottom, which is moved by a drag or by arrow keys. */
  const grip = make("div.gs-grip", {
    role: "separator",
    "aria-orientation": "horizontal",
    "aria-label": "Height of the widget",
    "aria-valuemin": LEAST,
    tabindex: 0,
    title: "Drag to change the height; double-click to reset",
  });
  let outputView: Element | null = null,
    observer: ResizeObserver | null = null;

  function isFull(): boolean {
    return root.matches(".gs-full");
  }

  /** Switches full screen on or off; in the top layer, because elements around a cell may clip it. */
  function fill(on = !isFull()): void {
    const held = focused();
    if (on === isFull()) return;
    root.classList.toggle("gs-full", on);
    if (on) {
      setAttribute(root, "popover", "manual");
      root.showPopover?.();
    } else {
      root.hidePopover?.();
      root.removeAttribute("popover");
    }
    if (held && root.contains(held)) focus(held);
    onChange(on);
  }

  /** Called once the widget is on the page: in a separate output view it takes all space. */
  function attach(): void {
    setAttribute(grip, "aria-valuenow", root.offsetHeight);
    const view = still || outputView ? null : root.closest(".jp-LinkedOutputView");
    if (!view) return;
    outputView = view;
    root.classList.add("gs-own-view");
    observer = new ResizeObserver(() => {
      const above = root.getBoundingClientRect().top - view.getBoundingClientRect().top + view.scrollTop;
      if (!isFull()) root.style.height = `${Math.max(LEAST, view.clientHeight - above - 8)}px`;
    });
    observer.observe(view);
  }

  function stop(): void {
    observer?.disconnect();
  }

  /** Sets the height in px; 0 for the height of the style sheet. */
  function setHeight(height: number): void {
    root.style.height = height ? `${Math.max(LEAST, Math.round(height))}px` : "";
  }

  if (!still) setHeight(storedHeight());
  const begin = ({ button, clientY }: PointerEvent) => {
    const height = root.offsetHeight;
    return button ? null : (e: PointerEvent) => setHeight(height + e.clientY - clientY);
  };
  onDrag(grip, begin, () => storeHeight(root.offsetHeight));
  grip.addEventListener("dblclick", () => {
    setHeight(0);
    storeHeight(0);
  });
  grip.addEventListener("keydown", e => {
    const by = { ArrowUp: -STEP, ArrowDown: STEP }[e.key];
    if (!by) return;
    consume(e);
    setHeight(root.offsetHeight + by);
    storeHeight(root.offsetHeight);
  });

  return {
    grip,
    attach,
    stop,
    fill,
    get full() {
      return isFull();
    },
  };
}

function storedHeight(): number {
  return Math.min(Number(load(KEY)) || 0, 2 * window.innerHeight);
}

function storeHeight(height: number): void {
  store(KEY, height ? String(height) : null);
}
