// Elements: attributes, texts, focus.

const SVG = "http://www.w3.org/2000/svg";
export const FOCUSABLE = new Set(["button", "input", "select", "textarea", "summary"]);
const UNPRINTABLE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

const LIVE_BUTTONS = "button:enabled:not([hidden])";

/** The largest number of characters in a tooltip or a text for screen readers. */
export const LONGEST = 300;

/** Shows control characters, and characters that reorder text, as U+FFFD, because names come from untrusted files. */
export function clean(text: string): string {
  return text.replace(UNPRINTABLE, "\ufffd");
}

/** An SVG element with attributes, and text when given. */
export function s<K extends keyof SVGElementTagNameMap>(tag: K, attributes: object = {}, text?: string): SVGElementTagNameMap[K] {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes))
    if (value != null && value !== false) element.setAttribute(name, clean(String(value)));
  if (text !== undefined) element.textContent = clean(text);
  return element;
}

/** Replaces the contents of `element` by a text. */
export function fill(element: Element, text: string): void {
  element.textContent = clean(text);
}

/** Moves the focus from button to button of a bar by the arrow keys, Home and End. */
export function rove(e: KeyboardEvent): void {
  const buttons = [...(e.currentTarget as Element).querySelectorAll<HTMLElement>(LIVE_BUTTONS)],
    at = buttons.indexOf(e.target as HTMLElement),
    to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: buttons.length - 1 }[e.key];
  if (at < 0 || to === undefined) return;
  consume(e);
  buttons[(to + buttons.length) % buttons.length]!.focus();
}

/** Makes one Tab stop of the buttons of a bar: `stop`, or else the present one. */
export function setTabStop(bar: Element, stop?: EventTarget | null): void {
  const live = [...bar.querySelectorAll<HTMLElement>(LIVE_BUTTONS)],
    one = live.find(button => button === stop) ?? live.find(button => button.tabIndex === 0) ?? live[0];
  for (const button of bar.querySelectorAll("button")) button.tabIndex = button === one ? 0 : -1;
}

/** Makes `wanted` the children of `element`, in this order. Only misplaced children move: the browser styles and lays out each moved
 * one again. */
export function arrange(element: Element, wanted: readonly Element[]): void {
  const kept = new Set(wanted);
  for (const child of [...element.children]) if (!kept.has(child)) child.remove();
  let at = element.firstElementChild;
  for (const child of wanted) {
    if (child === at) at = child.nextElementSibling;
    else element.insertBefore(child, at);
  }
}

/** Sets an attribute that does not have this value yet. */
export function setAttribute(element: Element, name: string, value: string | number | boolean): void {
  if (element.getAttribute(name) !== `${value}`) element.setAttribute(name, `${value}`);
}

/** The element with the focus. */
export function focused(): HTMLElement {
  return document.activeElement as HTMLElement;
}

/** Whether an element contains the focus. */
export function hasFocus(element: Element): boolean {
  return element.contains(focused());
}

/** Stops an event: no other listener handles it. */
export function consume(event: Event): void {
  event.preventDefault();
  event.stopPropagation();
}

/** Scrolls a list so that an entry of it is in sight; the page around the list does not scroll. */
export function scrollToEntry(entry: Element, list: Element): void {
  const a = list.getBoundingClientRect(),
    b = entry.getBoundingClientRect();
  if (b.top < a.top) list.scrollTop -= a.top - b.top;
  else if (b.bottom > a.bottom) list.scrollTop += Math.min(b.bottom - a.bottom, b.top - a.top);
}

/** Drags an element: `begin` returns the function for each move, or null for no drag; `end` is called after it. */
export function onDrag(element: HTMLElement, begin: (e: PointerEvent) => ((e: PointerEvent) => void) | null, end = () => {}): void {
  let move: ((e: PointerEvent) => void) | null = null;
  element.addEventListener("pointerdown", e => {
    move = begin(e);
    if (move) element.setPointerCapture?.(e.pointerId);
  });
  element.addEventListener("pointermove", e => move?.(e));
  for (const name of ["pointerup", "pointercancel"])
    element.addEventListener(name, () => {
      if (move) end();
      move = null;
    });
}

const FIGURES = new Intl.NumberFormat("en");

/** "1,200". */
export function figure(n: number): string {
  return FIGURES.format(n);
}

/** "1 constant", "2 constants". */
export function countOf(n: number, many: string): string {
  return `${figure(n)} ${n === 1 ? many.replace(/ies\b/, "y").replace(/s\b/, "") : many}`;
}

/** Focuses an element without scrolling. */
export function focus(element: HTMLElement | SVGElement | null | undefined): void {
  element?.focus({ preventScroll: true });
}
