// Declarative panels: `h` describes elements, and `draw` changes the page where it differs from the last description. Elements stay,
// and with them focus, scroll and selection. Texts become text nodes: nothing here parses markup.
import { h as node, patch, text, type VNode } from "superfine";
import { clean, FOCUSABLE, hasFocus, LONGEST, focused } from "./dom";

export type { VNode };
export type Child = VNode | string | false | null | undefined | readonly Child[];

export interface Attributes {
  key?: string | number;
  class?: string | false | undefined;
  [attribute: string]: unknown;
  [listener: `on${string}`]: ((event: any) => unknown) | false | undefined;
}

/** Describes an element: its tag with classes, such as "div.gs-row", its attributes and listeners, and its children. */
export function h(selector: string, ...given: [Attributes, ...Child[]] | Child[]): VNode {
  const [tag = "", ...classes] = selector.split("."),
    [first] = given,
    { class: more, ...attributes } = isAttributes(first) ? (given.shift() as Attributes) : {},
    all: Record<string, unknown> = {};
  // not a button that submits a form of the notebook's page
  if (tag === "button") all["type"] = tag;
  if (more) classes.push(more);
  if (classes.length) all["class"] = classes.join(" ");
  if (FOCUSABLE.has(tag) || "tabindex" in attributes) all["data-lm-suppress-shortcuts"] = "true";
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "boolean" && name.includes("-")) all[name] = String(value);
    // a name can be as long as a file: tooltips and texts for screen readers are cut
    else if (typeof value === "string") all[name] = clean(name === "title" || name === "aria-label" ? value.slice(0, LONGEST) : value);
    else if (value !== undefined) all[name] = value;
  }
  const children = (given as Child[]).flat(Infinity as 1) as Exclude<Child, readonly Child[]>[];
  return node(
    tag,
    all,
    children.map(child => (typeof child === "object" ? child! : text(clean(child || "")))),
  );
}

function isAttributes(value: unknown): boolean {
  return !!value && typeof value === "object" && !Array.isArray(value) && !("tag" in value);
}

/** Makes the element of a description. */
export function create<E extends Element = HTMLElement>(vnode: VNode): E {
  return patch(document.createElement("i").appendChild(new Text()), vnode);
}

/** Makes an element with other elements in it. */
export function make<E extends Element = HTMLElement>(selector: string, attributes: Attributes = {}, ...children: Element[]): E {
  const element = create<E>(h(selector, attributes));
  element.append(...children);
  return element;
}

/** Makes an element what a description says. The focus stays on its element; if that is removed, the nearest element around
 * it that can have the focus gets it. A text that is being typed stays, unless the attribute data-value of its field changes. */
export function draw(element: HTMLElement, vnode: VNode): void {
  const around = hasFocus(element) ? [focused()] : [];
  for (let at = around[0]?.parentElement; at; at = at.parentElement) if (at.matches("[tabindex]")) around.push(at);
  patch(element, vnode);
  for (const input of element.querySelectorAll<HTMLInputElement>("input[data-value]"))
    if (input.defaultValue !== input.dataset["value"]) input.defaultValue = input.value = input.dataset["value"]!;
  if (around.length && !hasFocus(element)) around.find(one => element.contains(one) && !one.closest("[hidden]"))?.focus();
}
