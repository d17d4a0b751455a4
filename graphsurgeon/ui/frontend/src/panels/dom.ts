// Elements: attributes, texts, focus.

const SVG = "http://www.w3.org/2000/svg";
export const FOCUSABLE = new Set(["button", "input", "select", "textarea", "summary"]);
const UNPRINTABLE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

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
    if (value !== undefined && value !== false) element.setAttribute(name, clean(String(value)));
  if (text !== undefined) element.textContent = clean(text);
  return element;
}

/** Replaces the contents of `element` by a text. */
export function fill(element: Element, text: string): void {
  element.textContent = clean(text);
}

/** Makes one Tab stop of the buttons of a bar: the arrow keys go from button to button. Returns a function that must be called after
 * buttons were enabled or disabled. */
export function rove(bar: HTMLElement): () => void {
  const all = [...bar.querySelectorAll<HTMLButtonElement>("button")],
    live = () => all.filter(one => !one.disabled && !one.hidden);
  const stopAt = (stop: HTMLButtonElement | undefined) => {
    for (const one of all) one.tabIndex = one === stop ? 0 : -1;
  };
  bar.addEventListener("focusin", e => {
    if (all.includes(e.target as HTMLButtonElement)) stopAt(e.target as HTMLButtonElement);
  });
  bar.addEventListener("keydown", e => {
    const buttons = live(),
      at = buttons.indexOf(e.target as HTMLButtonElement),
      to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: buttons.length - 1 }[e.key];
    if (at < 0 || to === undefined) return;
    consume(e);
    buttons[(to + buttons.length) % buttons.length]!.focus();
  });
  const refresh = () => {
    if (!live().some(one => one.tabIndex === 0)) stopAt(live()[0]);
  };
  stopAt(live()[0]);
  return refresh;
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

const FIGURES = new Intl.NumberFormat("en");

/** "1,200". */
export function figure(n: number): string {
  return FIGURES.format(n);
}

/** "1 op", "2 ops". */
export function count(n: number, one: string, many = one + "s"): string {
  return `${figure(n)} ${n === 1 ? one : many}`;
}

/** "1 constant", "2 constants". */
export function countOf(n: number, many: string): string {
  return count(n, many.replace(/ies\b/, "y").replace(/s\b/, ""), many);
}

/** Focuses an element without scrolling. */
export function focus(element: HTMLElement | SVGElement | null | undefined): void {
  element?.focus({ preventScroll: true });
}
