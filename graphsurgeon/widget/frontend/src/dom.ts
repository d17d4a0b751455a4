// Makes elements. Text only ever becomes text: nothing here parses markup.

const SVG = "http://www.w3.org/2000/svg";
const FOCUSABLE = new Set(["button", "input", "select", "textarea", "summary"]);
const UNPRINTABLE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

type Child = Node | string | null | undefined | false;

export interface Props {
  class?: string;
  on?: Record<string, (event: any) => void>;
  [attribute: string]: unknown;
}

/** Names come from strangers: control characters and those that reorder text are shown as U+FFFD. */
export function clean(text: string): string {
  return text.replace(UNPRINTABLE, "\ufffd");
}

/** An HTML element with attributes, listeners and children; strings become text nodes. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, props: Props = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
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

/** Puts `children` in the place of what `element` holds. */
export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren(...children.filter((c): c is Node | string => !!c).map(c => (typeof c === "string" ? clean(c) : c)));
}

function set(element: Element, props: Props): void {
  for (const [name, value] of Object.entries(props)) {
    if (name === "on") for (const [event, call] of Object.entries(value as object)) element.addEventListener(event, call as EventListener);
    else if (value !== undefined && value !== null && value !== false) {
      element.setAttribute(name, value === true ? "" : clean(String(value)));
    }
  }
}

/** A button with an icon, a text, or both; `label` is its name where it shows only an icon. */
export function button(
  props: { icon?: SVGElement; text?: string; label?: string; kind?: string; press: (event: MouseEvent) => void } & Props,
): HTMLButtonElement {
  const { icon, text, label, kind, press, class: cls, ...rest } = props;
  return h(
    "button",
    {
      type: "button",
      class: ["gs-button", kind && `gs-${kind}`, !text && "gs-icon-only", cls].filter(Boolean).join(" "),
      "aria-label": text ? undefined : label,
      title: label,
      on: { click: press },
      ...rest,
    },
    icon,
    text && h("span", {}, text),
  );
}

/** Scrolls a list so that an entry of it is in sight; the page around the list stays where it is. */
export function bring(entry: Element, list: Element): void {
  const a = list.getBoundingClientRect(),
    b = entry.getBoundingClientRect();
  if (b.top < a.top) list.scrollTop -= a.top - b.top;
  else if (b.bottom > a.bottom) list.scrollTop += Math.min(b.bottom - a.bottom, b.top - a.top);
}

/** "1 op", "2 ops". */
export function count(n: number, one: string, many = one + "s"): string {
  return `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
}

/** "1 constant aside", "2 constants aside". */
export function besides(n: number, what: string): string {
  return `${count(n, what.replace(/ies\b/, "y").replace(/s\b/, ""), what)} aside`;
}

/** Copies to the clipboard; false where the page may not. */
export async function toClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
