// Small floating lists inside the widget: the context menu, the choice of an input, the help.
import { type Api, CommandError } from "../model/api";
import { pointAt, button, field, fill, focus, h, hasFocus, muted, focused, setAttribute } from "./dom";
import { type Drag, dragFrom } from "../canvas/pointer";
import { type Action, GROUPS } from "../commands/keys";
import { SIGN } from "../model/signs.generated";
import type { Verbs } from "../model/types.generated";

export interface Field {
  name: string;
  label: string;
  value?: string;
  hint?: string | undefined;
  /** whether the value is a name, whose last part is selected */ isName?: boolean;
  /** the choices, and their texts */ options?: [string, string][] | undefined;
  /** suggestions while the person types */ list?: string[];
  /** finds the entries that match the typed text, the best first; the value must be one of them */ find?:
    ((query: string) => Promise<Entry[] | null>) | undefined;
}

/** An entry of a searched list: its value and its description. */
export interface Entry {
  name: string;
  doc: string;
  /** begins a drag of the entry */ drag?: () => Drag;
}
/** A point of the window. */
export interface Position {
  x: number;
  y: number;
}

export interface Choice {
  text: string;
  key?: string | undefined;
  run(): void;
  off?: boolean;
  /** why it cannot be chosen */ why?: string;
  /** ticked or not, if the item can be ticked */ on?: boolean;
  /** its heading */ group?: string;
  /** the verb that it sends: the item is only offered if the verb is answered */ verb?: keyof Verbs | undefined;
  /** shows the effect of the item while the pointer is on it */ shows?: () => void;
}

/** The time between two letters of one word, in ms. */
const TYPING = 800;

/** Shows one floating thing at a time; Esc or a click elsewhere closes it. */
export class Popup {
  readonly layer = h("div", { class: "gs-popups" });
  #back: Element | null = null;
  #shut: (() => void) | null = null;

  readonly #host: HTMLElement;
  readonly #id: string;
  readonly #api: Pick<Api, "answers" | "kernelStopped">;

  constructor(host: HTMLElement, id: string, api: Pick<Api, "answers" | "kernelStopped">) {
    this.#host = host;
    this.#id = id;
    this.#api = api;
    host.addEventListener(
      "pointerdown",
      e => {
        if (this.open && !this.layer.contains(e.target as Node)) this.close(false);
      },
      true,
    );
  }

  get open(): boolean {
    return this.layer.childElementCount > 0;
  }

  close(restore = true): void {
    if (!this.open) return;
    const inside = hasFocus(this.layer);
    this.layer.replaceChildren();
    const shut = this.#shut;
    this.#shut = null;
    if (restore && inside) focus(this.#back as HTMLElement | null);
    shut?.();
  }

  /** A list of choices at a point of the window, or in the middle. `shut` is called when it closes, before the chosen action.
   * A saved page leaves out choices that it cannot do; without a kernel they are gray. */
  choose(title: string, all: Choice[], at?: Position, shut: (() => void) | null = null): void {
    const unanswered = ({ verb }: Choice) => !!verb && !this.#api.answers(verb),
      choices = all.filter(c => this.#api.kernelStopped || !unanswered(c)).map(c => ({ ...c, off: !!c.off || unanswered(c) }));
    if (all.length && !choices.length) return;
    const items = choices.map(c =>
      h(
        "button",
        {
          role: c.on === undefined ? "menuitem" : "menuitemcheckbox",
          "aria-checked": c.on === undefined ? undefined : String(c.on),
          class: "gs-choice",
          tabindex: -1,
          disabled: c.off,
          title: c.why,
          on: {
            focus: () => c.shows?.(),
            pointerenter: (e: Event) => c.shows && focus(e.target as HTMLElement),
            click: () => {
              this.close();
              c.run();
            },
          },
        },
        h(
          "span",
          {},
          c.on ? h("span", { class: "gs-tick", "aria-hidden": "true" }, "\u2713 ") : null,
          c.text,
          c.why && h("span", { class: "gs-why" }, c.why),
        ),
        c.key && h("kbd", { "aria-hidden": "true" }, c.key),
      ),
    );
    const live = items.filter(i => !i.disabled),
      texts = choices.filter(c => !c.off).map(c => c.text),
      typed = { text: "", time: 0 };
    const menu = h(
      "div",
      { class: "gs-popup gs-menu", role: "menu", "aria-label": title, on: { keydown: (e: KeyboardEvent) => walk(e, live, texts, typed) } },
      h("div", { class: "gs-popup-title", role: "presentation" }, title),
      ...withHeadings(choices, items),
    );
    this.#show(menu, live[0] ?? menu, at);
    this.#shut = shut;
  }

  /** A question with two answers. */
  confirm(text: string, lines: string[], yes: string, run: () => void): void {
    const list = h("ul", {}, ...lines.map(l => h("li", {}, l)));
    this.#dialog("alertdialog", text, [list], yes, run);
  }

  /** A question with fields to fill in; Enter answers it. `alert` is a warning above the fields.
   * If `run` is refused, the form opens again, with the typed texts and the reason. */
  form(title: string, fields: Field[], yes: string, run: (values: Record<string, string>) => unknown, note = "", alert = ""): void {
    // in a form without other text fields, a click on an entry is the answer
    const choosing = fields.every(f => f.find || f.options);
    const finders = fields.map((f, i) => f.find && new Autocomplete(f, f.find, `${this.#id}-found-${i}`, () => choosing && answer.click()));
    const inputs = fields.map(
      (f, i) =>
        finders[i]?.input ??
        (f.options
          ? h(
              "select",
              { class: "gs-field", "aria-label": f.label },
              ...f.options.map(([value, text]) => h("option", { value, selected: value === f.value }, text)),
            )
          : field({
              class: "gs-field",
              value: f.value,
              placeholder: f.hint,
              "aria-label": f.label,
              list: f.list?.length ? `${this.#id}-list-${i}` : undefined,
            })),
    );
    const rows = fields.map((f, i) =>
      h(
        finders[i] ? "div" : "label",
        { class: finders[i] ? "gs-asked gs-finds" : "gs-asked" },
        h("span", {}, f.label),
        inputs[i]!,
        finders[i]?.list,
        f.list?.length ? h("datalist", { id: `${this.#id}-list-${i}` }, ...f.list.map(value => h("option", { value }))) : null,
      ),
    );
    const answer = this.#dialog(
      "dialog",
      title,
      [
        ...(alert ? [h("p", { class: "gs-alert", role: "alert" }, alert)] : []),
        ...(note ? [muted(note)] : []),
        h("div", { class: "gs-asks" }, ...rows),
      ],
      yes,
      () => run(Object.fromEntries(fields.map((f, i) => [f.name, inputs[i]!.value.trim()]))),
      argument => {
        const at = Math.max(
          0,
          fields.findIndex(f => f.name === argument),
        );
        return inputs[at] && { input: inputs[at], label: argument || fields.length === 1 ? fields[at]!.label : "" };
      },
    );
    inputs.forEach((input, i) =>
      (input as HTMLElement).addEventListener("keydown", async e => {
        if (e.key !== "Enter") return;
        e.preventDefault();
        if (finders[i]) await finders[i].settle();
        answer.click();
      }),
    );
    const [first] = inputs;
    if (first instanceof HTMLInputElement)
      first.setSelectionRange(fields[0]!.isName ? first.value.lastIndexOf("/") + 1 : 0, first.value.length);
  }

  /** Asks a question, and calls `run` if the answer is `yes`; returns the button for that. `field` returns the element to focus: first, and
   * to the field of a wrong argument; without one, to the button. */
  #dialog(
    role: string,
    title: string,
    body: Node[],
    yes: string,
    run: () => unknown,
    field: (argument?: string) => { input: HTMLElement; label: string } | undefined = () => undefined,
  ): HTMLElement {
    const errorText = h("p", { class: "gs-alert", role: "alert", hidden: true });
    const okButton = button({
      text: yes,
      kind: "primary",
      press: async () => {
        this.close();
        try {
          await run();
        } catch (error) {
          if (!(error instanceof CommandError)) throw error;
          if (this.open) return; // another question is open by now
          const wrong = field(error.parts.argument);
          for (const one of box.querySelectorAll("[aria-invalid]")) one.removeAttribute("aria-invalid");
          if (wrong?.label) setAttribute(wrong.input, "aria-invalid", "true");
          fill(errorText, wrong?.label ? `${wrong.label}: ${error.explanation}` : error.explanation);
          errorText.hidden = false;
          this.#show(box, wrong?.input ?? okButton);
        }
      },
    });
    const box = h(
      "div",
      { class: "gs-popup gs-dialog", role, "aria-modal": "true", "aria-label": title },
      h("div", { class: "gs-popup-title" }, title),
      ...body,
      errorText,
      h("div", { class: "gs-row gs-end" }, button({ text: "Cancel", press: () => this.close() }), okButton),
    );
    this.#show(box, field()?.input ?? okButton);
    return okButton;
  }

  /** The keys of actions that are offered. */
  help(offers: (action: Action) => boolean): void {
    const close = button({ text: "Close", press: () => this.close() });
    const list = (rows: (readonly [Node, string])[]) =>
      h("dl", { class: "gs-keys" }, ...rows.flatMap(([sign, text]) => [h("dt", {}, sign), h("dd", {}, text)]));
    const kbd = (sign: string) => h("kbd", {}, sign),
      tag = (kind: string, sign: string) => h("span", { class: `gs-tag gs-tag-${kind}` }, sign);
    const signs = [
      [tag("in", "\u25b7 in"), "boundary input"],
      [tag("out", "\u25c1 out"), "boundary output"],
      [tag("leak", "\u26a0 leak"), "leak: the region reads it, but no boundary input covers it"],
      [kbd(SIGN.new), "added by the plan; dashed outline"],
      [kbd(SIGN.changed), "changed by the plan"],
      [kbd(SIGN.shape), "another output shape, because of a change upstream"],
      [kbd(SIGN.orphan), "orphan: no longer used, or removed by the plan"],
      [kbd(SIGN.conflict), "conflict; double outline"],
      [kbd(SIGN.joined), "new connection; thick edge, open arrow head"],
      [kbd(SIGN.removed), "removed connection; dotted edge"],
      [kbd("+1 \u22121"), "connections of this edge that the plan adds and removes"],
    ] as const;
    const groups: [string, (readonly [Node, string])[]][] = GROUPS.map(([group, keys]) => [
      group,
      keys.flatMap(([action, , show, text]) => (show && offers(action) ? [[kbd(show), text!] as const] : [])),
    ]);
    groups.push(["Symbols", signs.filter(([sign]) => sign.textContent === SIGN.orphan || offers("apply"))]);
    const all = h("div", { class: "gs-help-groups" }),
      filter = field({ type: "search", class: "gs-field", placeholder: "Filter", "aria-label": "Filter the list" });
    const show = () => {
      const words = filter.value.toLowerCase().split(/\s+/),
        fits = ([sign, text]: readonly [Node, string]) => words.every(word => `${sign.textContent} ${text}`.toLowerCase().includes(word));
      const shown = groups.map(([title, rows]) => [title, rows.filter(fits)] as const).filter(([, rows]) => rows.length);
      fill(all, ...shown.map(([title, rows]) => h("section", {}, h("h4", {}, title), list(rows))));
    };
    filter.addEventListener("input", show);
    show();
    const scroll = h("div", { class: "gs-help-scroll", tabindex: 0, role: "region", "aria-label": "List of shortcuts and symbols" }, all);
    this.#show(
      h(
        "div",
        { class: "gs-popup gs-dialog gs-help", role: "dialog", "aria-modal": "true", "aria-label": "Keyboard shortcuts and symbols" },
        h("div", { class: "gs-popup-title" }, "Keyboard shortcuts and symbols"),
        filter,
        scroll,
        h("div", { class: "gs-row gs-end" }, close),
      ),
      filter,
    );
  }

  #show(element: HTMLElement, first: HTMLElement, at?: Position): void {
    if (!this.open) this.#back = focused();
    this.layer.replaceChildren(element);
    this.layer.classList.toggle("gs-behind", element.classList.contains("gs-dialog"));
    if (at) {
      const r = this.#host.getBoundingClientRect();
      element.classList.add("gs-placed");
      element.style.left = `${Math.max(4, Math.min(at.x - r.left, r.width - element.offsetWidth - 8))}px`;
      element.style.top = `${Math.max(4, Math.min(at.y - r.top, r.height - element.offsetHeight - 8))}px`;
    }
    element.addEventListener("keydown", e => {
      if (e.key === "Escape") {
        e.preventDefault();
        this.close();
      } else if (e.key === "Tab") this.#trap(e, element);
      // no key reaches the drawing below
      e.stopPropagation();
    });
    focus(first);
  }

  #trap(e: KeyboardEvent, element: HTMLElement): void {
    const stops = [...element.querySelectorAll<HTMLElement>("button:not([disabled]), input, select, [tabindex='0']")];
    const first = stops[0],
      last = stops[stops.length - 1];
    if (e.shiftKey && focused() === first) {
      e.preventDefault();
      last?.focus();
    } else if (!e.shiftKey && focused() === last) {
      e.preventDefault();
      first?.focus();
    }
  }
}

/** Moves the focus in a menu: by arrow keys, or to the next item that begins with the letters typed one after the other. */
function walk(e: KeyboardEvent, items: HTMLElement[], texts: string[], typed: { text: string; time: number }): void {
  const at = items.indexOf(focused()),
    more = !!typed.text && e.timeStamp - typed.time < TYPING;
  let to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[e.key];
  if (e.key.length === 1 && (more || e.key !== " ") && !e.ctrlKey && !e.metaKey && !e.altKey) {
    typed.text = (more ? typed.text : "") + e.key.toLowerCase();
    typed.time = e.timeStamp;
    const order = texts.map((_, i) => (at + (more ? 0 : 1) + i) % texts.length);
    to = order.find(i => texts[i]!.toLowerCase().startsWith(typed.text));
  }
  if (to === undefined || !items.length) return;
  e.preventDefault();
  items[(to + items.length) % items.length]!.focus();
}

/** A field for an entry of a list, which is searched while the user types. */
class Autocomplete {
  readonly list = h("div", { class: "gs-hits gs-docs", role: "listbox", hidden: true });
  readonly input: HTMLInputElement;
  #entries: Entry[] = [];
  #index = 0;
  #last: Promise<void>;

  readonly #find: (query: string) => Promise<Entry[] | null>;
  readonly #onChoose: () => void;

  constructor(f: Field, find: (query: string) => Promise<Entry[] | null>, id: string, onChoose: () => void) {
    this.#find = find;
    this.#onChoose = onChoose;
    this.list.id = id;
    setAttribute(this.list, "aria-label", f.label);
    this.input = field({
      class: "gs-field",
      value: f.value,
      placeholder: f.hint,
      role: "combobox",
      "aria-label": f.label,
      "aria-controls": id,
      "aria-expanded": "false",
      "aria-autocomplete": "list",
    });
    this.input.addEventListener("input", () => (this.#last = this.#ask()));
    this.input.addEventListener("keydown", e => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
      if (!step || !this.#entries.length) return;
      e.preventDefault();
      this.#point((this.#index + step + this.#entries.length) % this.#entries.length);
    });
    this.#last = this.#ask();
  }

  /** Waits for the list, and takes the highlighted entry, unless the typed text is an entry itself, or matches no entry. */
  async settle(): Promise<void> {
    await this.#last;
    const on = this.#entries[this.#index];
    if (on && !this.#entries.some(e => e.name === this.input.value.trim())) this.input.value = on.name;
  }

  async #ask(): Promise<void> {
    const query = this.input.value.trim(),
      found = await this.#find(query);
    if (query !== this.input.value.trim() || !found) return;
    this.#entries = found;
    fill(
      this.list,
      ...found.map((entry, i) =>
        h(
          "div",
          {
            class: "gs-hit",
            role: "option",
            id: `${this.list.id}-${i}`,
            on: {
              pointerdown: (e: PointerEvent) => {
                e.preventDefault();
                if (entry.drag && !e.button && e.pointerType !== "touch") dragFrom(e, entry.drag);
              },
              click: () => {
                this.input.value = entry.name;
                this.#point(i);
                this.#onChoose();
              },
            },
          },
          h("span", { class: "gs-hit-name" }, entry.name),
          h("span", { class: "gs-hit-op" }, entry.doc),
        ),
      ),
    );
    this.list.hidden = !found.length;
    setAttribute(this.input, "aria-expanded", found.length > 0);
    this.#point(0);
  }

  #point(at: number): void {
    this.#index = at;
    pointAt(at, [...this.list.children], this.list, this.input);
  }
}

/** Items under their headings, in two columns if there is room; without headings, a plain list. */
function withHeadings(choices: Choice[], items: HTMLElement[]): HTMLElement[] {
  const names = [...new Set(choices.map(c => c.group))];
  if (names.length < 2) return items;
  return [
    h(
      "div",
      { class: "gs-groups", role: "presentation" },
      ...names.map(name =>
        h(
          "div",
          { class: "gs-choices", role: "group", "aria-label": name },
          h("div", { class: "gs-over", "aria-hidden": "true" }, name ?? ""),
          ...items.filter((_, i) => choices[i]!.group === name),
        ),
      ),
    ),
  ];
}
