// Makes elements. Texts become text nodes: nothing here parses markup.
import type { Verbs } from "../model/types.generated";

const SVG = "http://www.w3.org/2000/svg";
const FOCUSABLE = new Set(["button", "input", "select", "textarea", "summary"]);
const UNPRINTABLE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** The largest number of characters in a tooltip or a text for screen readers. */
const MOST = 300;

type Child = Node | string | null | undefined | false;

export interface Props {
  class?: string;
  on?: Record<string, (event: any) => void>;
  [attribute: string]: unknown;
}

/** Shows control characters, and characters that reorder text, as U+FFFD, because names come from untrusted files. */
export function clean(text: string): string {
  return text.replace(UNPRINTABLE, "\ufffd");
}

/** An HTML element with attributes, listeners and children; strings become text nodes. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, props: Props = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  // not a button that submits a form of the notebook's page
  if (tag === "button") element.setAttribute("type", "button");
  set(element, props);
  if (FOCUSABLE.has(tag) || "tabindex" in props) element.setAttribute("data-lm-suppress-shortcuts", "true");
  fill(element, ...children);
  return element;
}

/** An SVG element with attributes, and text when given. */
export function s<K extends keyof SVGElementTagNameMap>(tag: K, props: Props = {}, text?: string): SVGElementTagNameMap[K] {
  const element = document.createElementNS(SVG, tag);
  set(element, props);
  if (text !== undefined) element.textContent = clean(text);
  return element;
}

/** Replaces the contents of `element` by `children`. */
export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren(...children.filter((c): c is Node | string => !!c).map(c => (typeof c === "string" ? clean(c) : c)));
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

function set(element: Element, props: Props): void {
  for (const [name, value] of Object.entries(props)) {
    if (name === "on") for (const [event, call] of Object.entries(value as object)) element.addEventListener(event, call as EventListener);
    else if (value !== undefined && value !== null && value !== false) {
      // a name can be as long as a file: tooltips and texts for screen readers are cut
      const text = value === true ? "" : clean(String(value));
      element.setAttribute(name, name === "title" || name === "aria-label" ? text.slice(0, MOST) : text);
    }
  }
}

export interface ButtonProps extends Props {
  icon?: SVGElement;
  text?: string;
  label?: string | undefined;
  kind?: string;
  /** the verb that it sends: it is offered only if the verb is answered */ verb?: keyof Verbs | undefined;
}

/** An input field of one line. */
export function field(props: Props): HTMLInputElement {
  return h("input", { type: "text", spellcheck: "false", autocomplete: "off", ...props });
}

/** A button with an icon, a text, or both; `label` is its name where it shows only an icon. */
export function button(props: ButtonProps & { press: () => void }): HTMLButtonElement {
  const { icon, text, label, kind, press, verb, class: cls, ...rest } = props;
  return h(
    "button",
    {
      class: ["gs-button", kind && `gs-${kind}`, !text && "gs-icon-only", cls].filter(Boolean).join(" "),
      "aria-label": text ? undefined : label,
      title: label,
      "data-verb": verb,
      on: { click: press },
      ...rest,
    },
    icon,
    text && h("span", {}, text),
  );
}

/** A small button of a row; `name` is its accessible name if its text is not clear alone. */
export function small(text: string, press: () => void, name?: string, more: ButtonProps = {}): HTMLButtonElement {
  return button({ text, kind: "small", "aria-label": name, label: name, press, ...more });
}

/** A name that is a link to its op or tensor. */
export function link(name: string, go: (name: string) => void, text = name): HTMLElement {
  return h("button", { class: "gs-link", title: name, on: { click: () => go(name) } }, text);
}

/** A paragraph that explains. */
export function muted(...children: Child[]): HTMLElement {
  return h("p", { class: "gs-muted" }, ...children);
}

/** The element with the focus. */
export function focused(): HTMLElement {
  return document.activeElement as HTMLElement;
}

/** Whether an element contains the focus. */
export function hasFocus(element: Element): boolean {
  return element.contains(focused());
}

/** Highlights an entry of the list of a combobox, and scrolls to it. */
export function pointAt(at: number, entries: Element[], list: Element, input: Element): void {
  entries.forEach((e, i) => {
    e.classList.toggle("gs-on", i === at);
    setAttribute(e, "aria-selected", i === at);
  });
  const on = entries[at];
  if (!on) return input.removeAttribute("aria-activedescendant");
  setAttribute(input, "aria-activedescendant", on.id);
  scrollToEntry(on, list);
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

/** A button that copies `text` to the clipboard, and shows whether this has worked. */
export function copyButton(props: ButtonProps, text: string, done: string, say: (text: string) => void): HTMLButtonElement {
  return button({
    ...props,
    press: async () => {
      try {
        await navigator.clipboard.writeText(text);
        say(done);
      } catch {
        say("This page is not allowed to write to the clipboard.");
      }
    },
  });
}

/** Focuses an element without scrolling. */
export function focus(element: HTMLElement | SVGElement | null | undefined): void {
  element?.focus({ preventScroll: true });
}
