// Parts of panels.
import { icon, type IconName } from "./icons";
import { type Attributes, type Child, h, type VNode } from "./vnodes";
import type { Post } from "../model/api";
import type { Verbs } from "../model/types.generated";

/** A point of the window. */
export interface Position {
  x: number;
  y: number;
}

export interface ButtonOptions extends Attributes {
  icon?: IconName | undefined;
  text?: string | undefined;
  label?: string | undefined;
  kind?: string;
  /** the verb that it sends: it is offered only if the verb is answered */ verb?: keyof Verbs | undefined;
}

/** A button with an icon, a text, or both; `label` is its name where it shows only an icon. */
export function button({ icon: name, text, label, kind, verb, class: more, ...rest }: ButtonOptions): VNode {
  return h(
    "button.gs-button",
    {
      class: [kind && `gs-${kind}`, !text && "gs-icon-only", more].filter(Boolean).join(" "),
      "aria-label": text ? undefined : label,
      title: label,
      "data-verb": verb,
      ...rest,
    },
    name && icon(name),
    text && h("span", text),
  );
}

/** A small button of a row; `label` is its accessible name if its text is not clear alone. */
export function small(text: string, onclick: () => unknown, more: ButtonOptions = {}): VNode {
  return button({ text, kind: "small", "aria-label": more.label, onclick, ...more });
}

/** The place of a menu below the button of an event. */
export function belowButton(e: Event): Position {
  const { left, bottom } = (e.currentTarget as Element).getBoundingClientRect();
  return { x: left, y: bottom + 4 };
}

/** A small button that sends a verb. */
export function sends<V extends keyof Verbs>(post: Post, verb: V, args: Verbs[V], text: string, more: ButtonOptions = {}): VNode {
  return small(text, () => post(verb, args), { verb, ...more });
}

/** A button that copies `code` to the clipboard, and shows whether this has worked. */
export function copyButton(code: string, done: string, show: (text: string) => void, more: ButtonOptions): VNode {
  return button({
    ...more,
    onclick: async () => {
      try {
        await navigator.clipboard.writeText(code);
        show(done);
      } catch {
        show("This page is not allowed to write to the clipboard.");
      }
    },
  });
}

/** An input field of one line. */
export function field(options: Attributes): VNode {
  return h("input", { type: "text", spellcheck: false, autocomplete: "off", ...options });
}

/** A field whose value is taken on Enter. */
export function enterField(value: string, done: (text: string) => void, more: Attributes): VNode {
  return field({
    ...more,
    class: `gs-field gs-entered ${more.class ?? ""}`,
    "data-value": value,
    onkeydown: (e: KeyboardEvent) => {
      if (e.key !== "Enter" || e.ctrlKey || e.metaKey) return;
      e.preventDefault();
      const text = (e.target as HTMLInputElement).value.trim();
      if (text !== value) done(text);
    },
  });
}

/** A choice between values with their texts; an option may have attributes. */
export function select(value: string | undefined, options: readonly Option[], more: Attributes): VNode {
  return h(
    "select",
    more,
    options.map(([key, text, attributes]) =>
      h("option", { value: key, selected: value === undefined ? value : key === value, ...attributes }, text),
    ),
  );
}

export type Option = readonly [value: string, text: string, more?: Attributes];

/** The value of the field of an event. */
export function valueOf(event: Event): string {
  return (event.target as HTMLInputElement | HTMLSelectElement).value;
}

/** A name that is a link to its op or tensor. */
export function link(name: string, go: (name: string) => void, text = name): VNode {
  return h("button.gs-link", { title: name, onclick: () => go(name) }, text);
}

/** Elements that belong together, with a name for screen readers. */
export function group(selector: string, label: string | undefined, ...children: Child[]): VNode {
  return h(selector, { role: "group", "aria-label": label }, children);
}

/** A paragraph that explains. */
export function muted(...children: Child[]): VNode {
  return h("p.gs-muted", children);
}

/** The picture of a tensor, if it has one. */
export function image(tensor: string, src: string): VNode | false {
  return src.startsWith("data:image/png;") && h("img.gs-picture", { src, alt: `Picture of ${tensor}` });
}

/** The attributes of a field with a list of options, of which one is current. */
export function combobox(list: string, open: boolean, current: number): Attributes {
  return {
    role: "combobox",
    "aria-controls": list,
    "aria-expanded": open,
    "aria-autocomplete": "list",
    "aria-activedescendant": open ? `${list}-${current}` : undefined,
  };
}

/** An option of the list of a combobox. */
export function option(list: string, i: number, current: number, more: Attributes, ...children: Child[]): VNode {
  const on = i === current;
  return h("div.gs-hit", { role: "option", id: `${list}-${i}`, class: on && "gs-on", "aria-selected": on, ...more }, children);
}
