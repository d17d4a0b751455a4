// The search box with its list of hits of both panes; the list stays until it is hidden, above the inspector, which it does not cover.
import { CommandError } from "../model/api";
import { pointAt, button, count, field, figure, fill, h, consume, focused, setAttribute } from "./dom";
import { icon } from "./icons";
import { sharedScope } from "../state/places";
import type { PaneName, SearchResult } from "../model/types.generated";

const WAIT = 160;

/** The hits of one pane. */
export interface PaneHits {
  pane: PaneName;
  title: string;
  /** Whether it is the graph of the source pane after the plan, with mostly the same ops. */
  becomes: boolean;
  result: SearchResult;
}
interface HitLine {
  pane: PaneName;
  name: string;
  /** The name in the list. */
  text: string;
  op: string;
}

export class Search {
  readonly #input = field({
    type: "search",
    placeholder: "Search ( / )",
    role: "combobox",
    "aria-label": "Search ops",
    "aria-expanded": "false",
    "aria-autocomplete": "list",
    "data-verb": "find",
  });
  readonly #list = h("div", { class: "gs-hits", role: "listbox", "aria-label": "Search results", hidden: true });
  readonly #note = h("div", { class: "gs-hits-note", hidden: true });
  readonly #total = h("span", { class: "gs-muted" });
  readonly #drop = h(
    "div",
    { class: "gs-drop", hidden: true },
    h(
      "div",
      { class: "gs-hits-head" },
      this.#total,
      button({
        icon: icon("close"),
        label: "Hide results (Esc)",
        kind: "quiet",
        press: () => {
          this.clear();
          this.#onClose();
        },
      }),
    ),
    this.#list,
    this.#note,
  );
  readonly element: HTMLElement;
  #hits: HitLine[] = [];
  #index = 0;
  #timer = 0;
  #query = "";
  #hitsQuery = ""; // the query of the hits
  #markedPanes: PaneName[] = [];
  #isDocked = false;

  readonly #find: (query: string) => Promise<PaneHits[]>;
  readonly #reveal: (hit: { pane: PaneName; name: string }, keyboard: boolean) => void;
  readonly #onClose: () => void;
  readonly #markBoxes: (pane: PaneName, boxes: Record<string, number>) => void;

  constructor(
    id: string,
    find: (query: string) => Promise<PaneHits[]>,
    /** Goes to a hit; `keyboard` moves the focus there, too. */ reveal: (hit: { pane: PaneName; name: string }, keyboard: boolean) => void,
    onClose: () => void,
    mark: (pane: PaneName, boxes: Record<string, number>) => void = () => {},
  ) {
    this.#find = find;
    this.#reveal = reveal;
    this.#onClose = onClose;
    this.#markBoxes = mark;
    this.#list.id = `${id}-hits`;
    setAttribute(this.#input, "aria-controls", this.#list.id);
    this.element = h("div", { class: "gs-search" }, icon("search"), this.#input, this.#drop);
    this.#input.addEventListener("input", () => {
      clearTimeout(this.#timer);
      this.#timer = window.setTimeout(() => this.#search(), WAIT);
    });
    this.#input.addEventListener("keydown", e => this.#key(e));
    this.#input.addEventListener("focus", () => this.#unroll(this.#hits.length > 0));
    this.#input.addEventListener("blur", () =>
      window.setTimeout(() => {
        if (focused() !== this.#input && !this.#isDocked) this.#unroll(false);
      }, 150),
    );
  }

  focus(): void {
    this.#input.focus();
    this.#input.select();
  }
  /** The element for a permanent list that covers nothing; without one the list opens below the search field. */
  dock(place: HTMLElement | null): void {
    if (!!place === this.#isDocked) return;
    this.#isDocked = !!place;
    this.#drop.classList.toggle("gs-docked", this.#isDocked);
    (place ?? this.element)[place ? "prepend" : "append"](this.#drop);
    this.#unroll(this.#hits.length > 0 && (this.#isDocked || focused() === this.#input));
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  /** Whether hits are marked in the pictures. */
  get on(): boolean {
    return this.#markedPanes.length > 0;
  }

  /** Removes the hits from the pictures. */
  clear(): void {
    this.#input.value = this.#query = "";
    this.#close();
  }

  /** Goes to the next hit, or with -1 to the previous one. */
  step(by: number): void {
    if (!this.#hits.length) return this.focus();
    this.#index = (this.#index + by + this.#hits.length) % this.#hits.length;
    this.#point();
    this.#reveal(this.#hits[this.#index]!, focused() !== this.#input);
  }

  /** Marks the hits in pictures that have changed. */
  refresh(): void {
    if (!this.on || !this.#query) return;
    const query = this.#query;
    void this.#find(query)
      .then(all => query === this.#query && this.#mark(all))
      .catch(() => {});
  }

  async #search(): Promise<void> {
    const query = this.#input.value.trim();
    this.#query = query;
    if (!query) return this.#close();
    try {
      const all = await this.#find(query);
      // ignore the answer to an old query
      if (query !== this.#query) return;
      this.#mark(all);
      this.#show(all);
      this.#hitsQuery = query;
    } catch (error) {
      // a pattern may be invalid while it is being typed
      if (query === this.#query) this.#show([], error instanceof CommandError ? error.message : "");
    }
  }

  #mark(all: PaneHits[]): void {
    this.#markedPanes = all.map(({ pane }) => pane);
    for (const { pane, result: found } of all) this.#markBoxes(pane, found.boxes ?? {});
  }

  #show(all: PaneHits[], wrong = ""): void {
    // a preview has mostly the ops of its source: they are listed once
    const names = new Set(all[0]?.result.hits.map(hit => hit.name)),
      parts = all.map(({ pane, title, becomes, result: found }) => ({
        pane,
        title,
        found,
        hits: found.hits.filter(hit => !becomes || !names.has(hit.name)),
      })),
      total = Math.max(0, ...parts.map(part => part.found.total)),
      shownParts = parts.filter(part => part.hits.length).map(part => ({ ...part, shown: distinct(part.hits.map(hit => hit.name)) })),
      plain = /^\w+$/.test(this.#query) ? ` by name; op:${this.#query} searches by type` : "";
    this.#hits = shownParts.flatMap(({ pane, hits, shown }) =>
      hits.map((hit, i) => ({ pane, name: hit.name, text: shown[i]!, op: hit.op })),
    );
    this.#index = 0;
    let i = 0;
    fill(this.#total, count(total, "hit"));
    fill(
      this.#list,
      ...shownParts.flatMap(({ title, hits }) => [
        shownParts.length > 1 && h("div", { class: "gs-hits-of", role: "presentation" }, title),
        ...hits.map(() => this.#line(i++)),
      ]),
    );
    fill(
      this.#note,
      wrong ||
        (!this.#hits.length
          ? `Nothing found${plain}. Try net/*, /regex/, op:Conv2D, dtype:, shape:?x8, device:, attr:padding=SAME, layer:, is:unknown, -word`
          : total > Math.max(...shownParts.map(part => part.found.hits.length))
            ? `${figure(shownParts[0]!.found.hits.length)} of ${figure(total)}: type more to narrow it down.`
            : ""),
    );
    this.#unroll(true);
    this.#point();
  }

  #line(i: number): HTMLElement {
    const { name, text: shown, op } = this.#hits[i]!,
      cut = shown.replace(/\/$/, "").lastIndexOf("/") + 1,
      [names, types] = searchWords(this.#query);
    return h(
      "div",
      {
        class: "gs-hit",
        role: "option",
        id: `${this.#list.id}-${i}`,
        title: name,
        on: { pointerdown: (e: Event) => e.preventDefault(), click: () => this.#take(i, this.#isDocked) },
      },
      h(
        "span",
        { class: "gs-hit-name" },
        h("span", { class: "gs-hit-path" }, ...bold(shown.slice(0, cut), names)),
        ...bold(shown.slice(cut), names),
      ),
      h("span", { class: "gs-hit-op" }, ...bold(op, types)),
    );
  }

  #point(): void {
    pointAt(this.#index, [...this.#list.querySelectorAll(".gs-hit")], this.#list, this.#input);
  }

  #take(i: number, keyboard: boolean): void {
    const hit = this.#hits[i];
    if (!hit) return;
    this.#index = i;
    this.#point();
    if (keyboard && !this.#isDocked) this.#unroll(false);
    this.#reveal(hit, keyboard);
    if (keyboard) this.#onClose();
  }

  /** Shows or hides the list; the hits stay. */
  #unroll(on: boolean): void {
    const some = on && this.#hits.length > 0;
    this.#list.hidden = !some;
    this.#note.hidden = !on || !this.#note.textContent;
    this.#drop.hidden = this.#list.hidden && this.#note.hidden;
    setAttribute(this.#input, "aria-expanded", some);
    if (!some) this.#input.removeAttribute("aria-activedescendant");
  }

  #close(): void {
    this.#hits = [];
    this.#hitsQuery = "";
    this.#unroll(false);
    for (const pane of this.#markedPanes) this.#markBoxes(pane, {});
    this.#markedPanes = [];
  }

  #key(e: KeyboardEvent): void {
    if (e.key === "Escape") {
      if (this.#drop.hidden) this.#onClose();
      else this.#close();
    } else if (e.key === "F3") this.step(e.shiftKey ? -1 : 1);
    else if (e.key === "Enter") {
      // if Enter comes before the answer, it takes the first hit of the answer
      if (this.#hits.length && this.#input.value.trim() === this.#hitsQuery) this.#take(this.#index, true);
      else {
        clearTimeout(this.#timer);
        void this.#search().then(() => this.#take(0, true));
      }
    } else if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      if (this.#hits.length) this.#index = (this.#index + (e.key === "ArrowDown" ? 1 : -1) + this.#hits.length) % this.#hits.length;
      this.#point();
    } else return;
    consume(e);
  }
}

/** The maximum number of characters of a name in a list; the middle of longer names is elided. */
const LONGEST = 84,
  /** The number of characters from which the common scopes of all names of a list are left out. */ LONG = 34,
  TAIL = 58;

/** The shortened names of a list: without their common prefix, and with long middles elided. */
export function distinct(names: string[]): string[] {
  const scope = names.length > 1 && names.some(name => name.length > LONG) ? sharedScope(names) : "",
    ends = names.map(name => (scope ? "\u2026/" : "") + name.slice(scope.length)),
    cut = ends.map(name => (name.length > LONGEST ? `${name.slice(0, LONGEST - TAIL - 1)}\u2026${name.slice(-TAIL)}` : name));
  return new Set(cut).size === new Set(ends).size ? cut : ends;
}

/** The words of a query that are parts of names, and those that are parts of op types, in lower case. */
function searchWords(query: string): [string[], string[]] {
  const words = query.toLowerCase().split(/\s+/),
    types = words.flatMap(word => /^(?:op|type):(.+)$/.exec(word)?.[1] ?? []);
  return [words.filter(word => /^[^-/][^:]*$/.test(word)).flatMap(parts), types.flatMap(parts)];
}

/** The literal parts of a pattern. */
function parts(pattern: string): string[] {
  return pattern.split(/[*?]+/).filter(Boolean);
}

/** A text with these words in bold. */
function bold(text: string, words: string[]): (string | HTMLElement)[] {
  if (!words.length) return breakable(text);
  const any = new RegExp(`(${words.map(word => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")})`, "i");
  return text.split(any).flatMap((part, i) => (i % 2 ? [h("b", {}, ...breakable(part))] : breakable(part)));
}

/** A name that may continue on the next line after each "/". */
function breakable(name: string): (string | HTMLElement)[] {
  return name.split(/(?<=\/)/).flatMap(part => (part.endsWith("/") ? [part, h("wbr")] : part ? [part] : []));
}
