// Small floating lists inside the widget: the context menu, the choice of an input, the help.
import { type Api, CommandError } from "../model/api";
import { focus, focused, hasFocus, scrollToEntry } from "./dom";
import { button, combobox, field, group, muted, option, type Position, select } from "./parts";
import { type Attributes, type Child, make, draw, h, type VNode } from "./vnodes";
import { type Drag, dragFrom } from "../canvas/pointer";
import { type Action, GROUPS } from "../commands/keys";
import { SIGN } from "../model/drawing.generated";
import type { Field, ValueType, Verbs } from "../model/types.generated";

/** The values of a form by the names of its fields: texts, or values of the types of the fields. */
export type Values = Record<string, any>;

/** A field of a form, as Python describes it, or with a search. */
export interface FormField extends Partial<Field> {
  name: string;
  label: string;
  /** whether the value is a name, whose last part is selected */ isName?: boolean;
  /** finds the entries that match the typed text, the best first; the value must be one of them. `values` are those of the form */ find?:
    ((query: string, values: () => Values) => Promise<Entry[] | null>) | undefined;
}

/** The value of a typed text by the type of a field. */
const READERS: Record<ValueType, (text: string) => unknown> = {
  number: (text: string) => (Number.isFinite(+text) ? +text : text),
  boolean: (text: string) => text === "yes",
  "string | null": (text: string) => text || null,
  "string[]": (text: string) => text.split(/\s*,\s*/).filter(Boolean),
};

/** An entry of a searched list: its value and its description. */
export interface Entry {
  name: string;
  doc: string;
  /** begins a drag of the entry */ drag?: () => Drag;
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

const HELP = "Keyboard shortcuts and symbols";

/** The symbols: their kind of tag, if they are tags, and their meaning. */
const SYMBOLS: [sign: string, text: string, tag?: string][] = [
  ["\u25b7 in", "boundary input", "in"],
  ["\u25c1 out", "boundary output", "out"],
  ["\u26a0 leak", "leak: the region reads it, but no boundary input covers it", "leak"],
  [SIGN.new, "added by the plan; dashed outline"],
  [SIGN.changed, "changed by the plan"],
  [SIGN.shape, "another output shape, because of a change upstream"],
  [SIGN.orphan, "orphan: no longer used, or removed by the plan"],
  [SIGN.conflict, "conflict; double outline"],
  [SIGN.joined, "new connection; thick edge, open arrow head"],
  [SIGN.removed, "removed connection; dotted edge"],
  ["+1 \u22121", "connections of this edge that the plan adds and removes"],
];

export type Popup = ReturnType<typeof popupLayer>;

/** Shows one floating thing at a time; Esc or a click elsewhere closes it. */
export function popupLayer(host: HTMLElement, id: string, api: Pick<Api, "answers" | "kernelStopped">) {
  const layer = make("div");
  let current: (() => VNode) | null = null,
    /** the number of popups so far: each has new elements */ serial = 0,
    lastFocus: HTMLElement | null = null,
    onClose: (() => void) | null = null,
    /** whether the rest of the screen is covered */ covers = false;

  function close(restore = true): void {
    if (!current) return;
    const inside = hasFocus(layer),
      shut = onClose;
    current = onClose = null;
    redraw();
    if (restore && inside) focus(lastFocus);
    shut?.();
  }

  /** A list of choices at a point of the window, or in the middle. `shut` is called when it closes, before the chosen action.
   * A saved page leaves out choices that it cannot do; without a kernel they are gray. */
  function choose(title: string, given: (Choice | false)[], at?: Position, shut: (() => void) | null = null): void {
    const all = given.filter(c => !!c),
      unanswered = ({ verb }: Choice) => !!verb && !api.answers(verb),
      choices = all.filter(c => api.kernelStopped || !unanswered(c)).map(c => ({ ...c, off: !!c.off || unanswered(c) }));
    if (all.length && !choices.length) return;
    const names = [...new Set(choices.map(c => c.group))],
      groups = names.map(name => [name, choices.filter(c => c.group === name)] as const),
      texts = groups.flatMap(([, items]) => items.filter(c => !c.off).map(c => c.text)),
      typed = { text: "", time: 0 };
    const item = (c: Choice) =>
      h(
        "button.gs-choice",
        {
          role: c.on === undefined ? "menuitem" : "menuitemcheckbox",
          "aria-checked": c.on,
          tabindex: -1,
          disabled: c.off,
          title: c.why,
          onfocus: () => c.shows?.(),
          onpointerenter: (e: Event) => c.shows && focus(e.target as HTMLElement),
          onclick: () => {
            close();
            c.run();
          },
        },
        h("span", c.on && h("span.gs-tick", { "aria-hidden": "true" }, "\u2713 "), c.text, c.why && h("span.gs-why", c.why)),
        c.key && h("kbd", { "aria-hidden": "true" }, c.key),
      );
    const menu = () =>
      h(
        "div.gs-popup.gs-menu",
        {
          role: "menu",
          class: at && "gs-placed",
          "aria-label": title,
          onkeydown: (e: KeyboardEvent) => walk(e, [...layer.querySelectorAll<HTMLElement>(LIVE)], texts, typed),
        },
        h("div.gs-popup-title", { role: "presentation" }, title),
        // items under their headings, in two columns if there is room; without headings, a plain list
        names.length < 2
          ? choices.map(item)
          : h(
              "div.gs-groups",
              { role: "presentation" },
              groups.map(([name, items]) =>
                group("div.gs-choices", name, h("div.gs-over", { "aria-hidden": "true" }, name ?? ""), items.map(item)),
              ),
            ),
      );
    display(menu, LIVE, false);
    if (at) {
      const r = host.getBoundingClientRect(),
        { style, offsetWidth, offsetHeight } = layer.firstElementChild as HTMLElement;
      style.left = `${Math.max(4, Math.min(at.x - r.left, r.width - offsetWidth - 8))}px`;
      style.top = `${Math.max(4, Math.min(at.y - r.top, r.height - offsetHeight - 8))}px`;
    }
    onClose = shut;
  }

  /** The fields of the open form. */
  function inputs(): (HTMLInputElement | HTMLSelectElement)[] {
    return [...layer.querySelectorAll<HTMLInputElement | HTMLSelectElement>(".gs-asks .gs-field")];
  }

  /** A question with fields to fill in; Enter answers it. `note` explains it; a list is of warnings. `alert` is a warning above the
   * fields. If `run` is refused, the form opens again, with the typed texts and the reason. */
  function form(
    title: string,
    fields: FormField[],
    yes: string,
    run: (values: Values) => unknown,
    note: string | string[] = "",
    alert = "",
  ): void {
    // in a form without other text fields, a click on an entry is the answer
    const choosing = fields.every(f => f.find || f.options),
      texts = (): Record<string, string> => Object.fromEntries(fields.map((f, i) => [f.name, inputs()[i]!.value.trim()])),
      read = (texts: Record<string, string>): Values =>
        Object.fromEntries(fields.map(({ name, type }) => [name, type ? READERS[type](texts[name]!) : texts[name]])),
      finders = fields.map(
        (f, i) =>
          f.find &&
          finder(
            f,
            `${id}-found-${i}`,
            () => inputs()[i],
            () => read(texts()),
            () => redraw(),
          ),
      );
    const lacks = () => choosing && finders.some(finder => finder?.isEmpty());
    let typed: Record<string, string> = Object.fromEntries(fields.map(f => [f.name, f.value ?? ""])),
      problem = "",
      invalid = -1;
    const answer = async () => {
      typed = texts();
      close();
      try {
        await run(read(typed));
      } catch (error) {
        if (!(error instanceof CommandError)) throw error;
        if (current) return; // another question is open by now
        const { argument } = error.parts,
          at = Math.max(
            0,
            fields.findIndex(f => f.name === argument),
          );
        invalid = argument || fields.length === 1 ? at : -1;
        problem = [fields[invalid]?.label, error.explanation].filter(Boolean).join(": ");
        show(at);
      }
    };
    const control = (f: FormField, i: number): VNode => {
      const attributes: Attributes = {
        class: "gs-field",
        "aria-label": f.label,
        "aria-invalid": i === invalid || undefined,
        onkeydown: async (e: KeyboardEvent) => {
          finders[i]?.key(e);
          if (e.key !== "Enter") return;
          e.preventDefault();
          if (finders[i]) await finders[i].settle();
          if (!lacks()) void answer();
        },
      };
      if (!f.options)
        return field({
          "data-value": typed[f.name],
          placeholder: f.hint,
          list: f.names?.length ? `${id}-list-${i}` : undefined,
          ...finders[i]?.attributes(),
          ...attributes,
        });
      const options = f.options.map(([value, text]) => [value, text, { defaultSelected: value === typed[f.name] }] as const);
      return select(undefined, options, attributes);
    };
    const content = () =>
      h(
        "div.gs-popup.gs-dialog",
        { role: fields.length ? "dialog" : "alertdialog", "aria-modal": "true", "aria-label": title },
        h("div.gs-popup-title", title),
        alert && h("p.gs-alert", { role: "alert" }, alert),
        typeof note === "string"
          ? note && muted(note)
          : h(
              "ul",
              note.map(line => h("li", line)),
            ),
        fields.length > 0 &&
          h(
            "div.gs-asks",
            fields.map((f, i) =>
              h(
                f.find ? "div.gs-asked.gs-finds" : "label.gs-asked",
                h("span", f.label),
                control(f, i),
                finders[i]?.list(() => choosing && void answer()),
                !!f.names?.length &&
                  h(
                    "datalist",
                    { id: `${id}-list-${i}` },
                    f.names.map(value => h("option", { value })),
                  ),
              ),
            ),
          ),
        h("p.gs-alert", { role: "alert", hidden: !problem }, problem),
        h(
          "div.gs-row.gs-end",
          button({ text: "Cancel", onclick: () => close() }),
          button({ text: yes, kind: "primary", disabled: lacks(), onclick: answer }),
        ),
      );
    const show = (at: number) => {
      display(content, ".gs-primary");
      focus(inputs()[at]);
    };
    show(0);
    const [first] = inputs();
    if (first instanceof HTMLInputElement)
      first.setSelectionRange(fields[0]!.isName ? first.value.lastIndexOf("/") + 1 : 0, first.value.length);
    for (const finder of finders) finder?.ask();
  }

  /** The keys of actions that are offered. */
  function help(offers: (action: Action) => boolean): void {
    const groups: [string, [sign: string, text: string, tag?: string][]][] = GROUPS.map(([group, keys]) => [
      group,
      keys.flatMap(([action, , show, text]) => (show && offers(action) ? [[show, text!]] : [])),
    ]);
    groups.push(["Symbols", SYMBOLS.filter(([sign]) => sign === SIGN.orphan || offers("apply"))]);
    const content = () => {
      const words = (layer.querySelector("input")?.value ?? "").toLowerCase().split(/\s+/),
        fits = ([sign, text]: [string, string, string?]) => words.every(word => `${sign} ${text}`.toLowerCase().includes(word)),
        shown = groups.map(([title, rows]) => [title, rows.filter(fits)] as const).filter(([, rows]) => rows.length);
      return h(
        "div.gs-popup.gs-dialog.gs-help",
        { role: "dialog", "aria-modal": "true", "aria-label": HELP },
        h("div.gs-popup-title", HELP),
        field({
          type: "search",
          class: "gs-field",
          placeholder: "Filter",
          "aria-label": "Filter the list",
          oninput: () => redraw(),
        }),
        h(
          "div.gs-help-scroll",
          { tabindex: 0, role: "region", "aria-label": "List of shortcuts and symbols" },
          h(
            "div.gs-help-groups",
            shown.map(([title, rows]) =>
              h(
                "section",
                h("h4", title),
                h(
                  "dl.gs-keys",
                  rows.map(([sign, text, tag]) => [h("dt", h(tag ? `span.gs-tag.gs-tag-${tag}` : "kbd", sign)), h("dd", text)]),
                ),
              ),
            ),
          ),
        ),
        h("div.gs-row.gs-end", button({ text: "Close", onclick: () => close() })),
      );
    };
    display(content, "input");
  }

  /** Shows a popup, with the focus on the first element of a selector; a dialog covers the rest of the screen. */
  function display(content: () => VNode, first: string, isDialog = true): void {
    if (!current) lastFocus = focused();
    current = content;
    covers = isDialog;
    serial++;
    redraw();
    focus(layer.querySelector<HTMLElement>(first));
  }

  function redraw(): void {
    const shown = current?.();
    draw(
      layer,
      h("div.gs-popups", { class: covers && "gs-behind", onkeydown: (e: KeyboardEvent) => press(e) }, shown && { ...shown, key: serial }),
    );
  }

  function press(e: KeyboardEvent): void {
    if (e.key === "Escape") {
      e.preventDefault();
      close();
    } else if (e.key === "Tab") trap(e);
    // no key reaches the drawing below
    e.stopPropagation();
  }

  function trap(e: KeyboardEvent): void {
    const stops = [...layer.querySelectorAll<HTMLElement>("button:not([disabled]), input, select, [tabindex='0']")],
      [from, to] = e.shiftKey ? [stops[0], stops.at(-1)] : [stops.at(-1), stops[0]];
    if (focused() !== from) return;
    e.preventDefault();
    to?.focus();
  }

  redraw();
  host.addEventListener(
    "pointerdown",
    e => {
      if (!layer.contains(e.target as Node)) close(false);
    },
    true,
  );

  return { layer, close, choose, form, help };
}

/** The items of a menu that can be chosen. */
const LIVE = ".gs-choice:not(:disabled)";

/** Moves the focus in a menu: by arrow keys, or to the next item that begins with the letters typed one after the other, or else has a
 * word that begins with them. */
function walk(e: KeyboardEvent, items: HTMLElement[], texts: string[], typed: { text: string; time: number }): void {
  const at = items.indexOf(focused()),
    more = !!typed.text && e.timeStamp - typed.time < TYPING;
  let to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[e.key];
  if (e.key.length === 1 && (more || e.key !== " ") && !e.ctrlKey && !e.metaKey && !e.altKey) {
    typed.text = (more ? typed.text : "") + e.key.toLowerCase();
    typed.time = e.timeStamp;
    const order = texts.map((_, i) => (at + (more ? 0 : 1) + i) % texts.length);
    const lower = texts.map(text => text.toLowerCase());
    to = order.find(i => lower[i]!.startsWith(typed.text)) ?? order.find(i => lower[i]!.includes(` ${typed.text}`));
  }
  if (to === undefined || !items.length) return;
  e.preventDefault();
  items[(to + items.length) % items.length]!.focus();
}

/** The entries of a field, which are searched while the user types. */
function finder(
  field: FormField,
  id: string,
  input: () => HTMLInputElement | HTMLSelectElement | undefined,
  values: () => Values,
  redraw: () => void,
) {
  let entries: Entry[] = [],
    answered = false,
    index = 0,
    answer: Promise<void> | undefined;

  function attributes(): Attributes {
    return { ...combobox(id, !isEmpty(), index), oninput: ask };
  }

  /** Whether there is nothing to choose, or not yet. */
  function isEmpty(): boolean {
    return !entries.length;
  }

  /** The list of the entries; a click on one takes it, and calls `chosen`. */
  function list(chosen: () => void): Child {
    if (answered && isEmpty()) return h("p.gs-docs.gs-muted", "Nothing found.");
    return h(
      "div.gs-hits.gs-docs",
      { id, role: "listbox", "aria-label": field.label, hidden: isEmpty() },
      entries.map((entry, i) =>
        option(
          id,
          i,
          index,
          {
            onpointerdown: (e: PointerEvent) => {
              e.preventDefault();
              if (entry.drag && !e.button && e.pointerType !== "touch") dragFrom(e, entry.drag);
            },
            onclick: () => {
              input()!.value = entry.name;
              point(i);
              chosen();
            },
          },
          h("span.gs-hit-name", entry.name),
          h("span.gs-hit-op", entry.doc),
        ),
      ),
    );
  }

  function key(e: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[e.key],
      n = entries.length;
    if (!step || !n) return;
    e.preventDefault();
    point((index + step + n) % n);
  }

  /** Waits for the list, and takes the highlighted entry, unless the typed text is an entry itself, or matches no entry. */
  async function settle(): Promise<void> {
    await answer;
    const on = entries[index],
      shown = input()!;
    if (on && !entries.some(e => e.name === shown.value.trim())) shown.value = on.name;
  }

  /** Searches the typed text. */
  function ask(): void {
    const typed = () => input()?.value.trim(),
      query = typed() ?? "";
    answer = field.find!(query, values).then(found => {
      if (query !== typed() || !found) return;
      answered = true;
      entries = found;
      point(0);
    });
  }

  function point(at: number): void {
    index = at;
    redraw();
    const on = document.getElementById(`${id}-${at}`);
    if (on) scrollToEntry(on, on.parentElement!);
  }

  return { attributes, isEmpty, list, key, settle, ask };
}
