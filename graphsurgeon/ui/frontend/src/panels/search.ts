// The search box with its list of hits of both panes; the list stays until it is hidden, above the inspector, which it does not cover.
import type { Actions } from "../commands/actions";
import { CommandError } from "../model/api";
import { consume, count, figure, focused, scrollToEntry } from "./dom";
import { icon } from "./icons";
import { button, combobox, field, option } from "./parts";
import { type Child, make, draw, h } from "./vnodes";
import { sharedScope } from "../state/places";
import type { PaneName, SearchResult } from "../model/types.generated";

const WAIT = 160,
  QUERIES = "net/*, op:Conv2D, shape:?x8, attr:padding=SAME";

/** The hits of one pane. */
interface PaneHits {
  pane: PaneName;
  result: SearchResult;
}
interface HitLine {
  pane: PaneName;
  name: string;
  /** The name in the list. */
  text: string;
  op: string;
  /** The title of the pane, above its first hit. */
  head: string | false;
}

export class Search {
  readonly element = make("div");
  readonly #drop = make("div");
  #hits: HitLine[] = [];
  #total = 0;
  #note = "";
  #open = false;
  #index = 0;
  #timer = 0;
  #query = "";
  #hitsQuery = ""; // the query of the hits
  #markedPanes: PaneName[] = [];
  #isDocked = false;

  constructor(
    private readonly id: string,
    private readonly actions: Actions,
  ) {
    this.#draw();
    this.element.append(this.#drop);
  }

  /** Searches the graphs of both panes. */
  #find(query: string): Promise<PaneHits[]> {
    const { api, panes } = this.actions;
    return Promise.all(
      (["source", "destination"] as const)
        .filter(pane => pane === "source" || panes[pane].scene)
        .map(async pane => ({ pane, result: await api.call("find", { query, pane }) })),
    );
  }

  get #input(): HTMLInputElement {
    return this.element.querySelector("input")!;
  }

  focus(): void {
    this.#input.focus();
    this.#input.select();
  }
  /** The element for a permanent list that covers nothing; without one the list opens below the search field. */
  dock(place: HTMLElement | null): void {
    if (!!place === this.#isDocked) return;
    this.#isDocked = !!place;
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
    this.#point(this.#index + by);
    const { pane, name } = this.#hits[this.#index]!;
    this.actions.reveal(pane, name, focused() !== this.#input);
  }

  /** Searches again after a picture has changed: its boxes and its ops may differ. The list stays at its hit. */
  refresh(): void {
    if (!this.on || !this.#query) return;
    const query = this.#query,
      old = this.#hits[this.#index];
    void this.#find(query)
      .then(all => {
        if (query !== this.#query) return;
        this.#mark(all);
        if (query !== this.#hitsQuery) return;
        this.#list(all);
        this.#point(
          Math.max(
            0,
            this.#hits.findIndex(hit => hit.pane === old?.pane && hit.name === old.name),
          ),
        );
      })
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
      this.#hitsQuery = query;
      this.#list(all);
    } catch (error) {
      // a pattern may be invalid while it is being typed
      if (query !== this.#query) return;
      this.#list([], error instanceof CommandError ? error.message : "");
    }
    this.#open = true;
    this.#point(0);
  }

  #mark(all: PaneHits[]): void {
    this.#markedPanes = all.map(({ pane }) => pane);
    for (const { pane, result: found } of all) this.actions.panes[pane].drawing.markHits(found.boxes);
  }

  /** Takes the lines of the list, and the note below it. */
  #list(all: PaneHits[], wrong = ""): void {
    // a preview has mostly the ops of its source: they are listed once
    const names = new Set(all[0]?.result.hits.map(hit => hit.name)),
      { model, isSingleGraph } = this.actions,
      parts = all.flatMap(({ pane, result: { hits: found } }) => {
        const hits = found.filter(hit => pane === "source" || !isSingleGraph || !names.has(hit.name));
        return hits.length ? [{ pane, hits, found: found.length }] : [];
      }),
      total = Math.max(0, ...all.map(({ result }) => result.total)),
      plain = /^\w+$/.test(this.#query) ? ` by name; op:${this.#query} searches by type` : "";
    this.#hits = parts.flatMap(({ pane, hits }) => {
      const shown = distinct(hits.map(hit => hit.name));
      return hits.map(({ name, op }, i) => ({
        pane,
        name,
        op,
        text: shown[i]!,
        head: !i && parts.length > 1 && model.get("titles")[pane],
      }));
    });
    this.#total = total;
    this.#note =
      wrong ||
      (!parts.length
        ? `Nothing found${plain}. Try ${QUERIES}, -word, /regex/, dtype:, device:, layer:, is:unknown`
        : total > Math.max(...parts.map(part => part.found))
          ? `${figure(parts[0]!.found)} of ${figure(total)}: type more to narrow it down.`
          : "");
  }

  #draw(): void {
    const list = `${this.id}-hits`,
      some = this.#open && this.#hits.length > 0,
      noted = this.#open && !!this.#note,
      [names, types] = searchWords(this.#hitsQuery);
    const close = () => {
      this.clear();
      this.actions.focusPane();
    };
    draw(
      this.element,
      h(
        "div.gs-search",
        icon("search"),
        field({
          type: "search",
          placeholder: "Search ( / )",
          "aria-label": "Search ops",
          "aria-describedby": `${this.id}-queries`,
          "data-verb": "find",
          ...combobox(list, some, this.#index),
          oninput: () => {
            clearTimeout(this.#timer);
            this.#timer = window.setTimeout(() => this.#search(), WAIT);
          },
          onkeydown: (e: KeyboardEvent) => this.#key(e),
          onfocus: () => this.#unroll(this.#hits.length > 0),
          onblur: () =>
            window.setTimeout(() => {
              if (focused() !== this.#input && !this.#isDocked) this.#unroll(false);
            }, 150),
        }),
        h("div.gs-queries", { id: `${this.id}-queries` }, `name, ${QUERIES}`),
      ),
    );
    draw(
      this.#drop,
      h(
        "div.gs-drop",
        { hidden: !some && !noted, class: this.#isDocked && "gs-docked" },
        h(
          "div.gs-hits-head",
          h("span.gs-muted", count(this.#total, "hit")),
          button({ icon: "close", label: "Hide results (Esc)", kind: "quiet", onclick: close }),
        ),
        h(
          "div.gs-hits",
          { id: list, role: "listbox", "aria-label": "Search results", hidden: !some },
          this.#hits.map(({ name, text, op, head }, i) => {
            const cut = text.replace(/\/$/, "").lastIndexOf("/") + 1;
            return [
              head && h("div.gs-hits-of", { role: "presentation" }, head),
              option(
                list,
                i,
                this.#index,
                { title: name, onpointerdown: (e: Event) => e.preventDefault(), onclick: () => this.#take(i, this.#isDocked) },
                h("span.gs-hit-name", h("span.gs-hit-path", bold(text.slice(0, cut), names)), bold(text.slice(cut), names)),
                h("span.gs-hit-op", bold(op, types)),
              ),
            ];
          }),
        ),
        h("div.gs-hits-note", { hidden: !noted }, this.#note),
      ),
    );
  }

  /** Highlights a hit; after the last one, the first one again. */
  #point(to: number): void {
    const n = this.#hits.length;
    this.#index = n && (to + n) % n;
    this.#draw();
    const on = this.#drop.querySelector(".gs-on");
    if (on) scrollToEntry(on, on.parentElement!);
  }

  #take(i: number, keyboard: boolean): void {
    const hit = this.#hits[i];
    if (!hit) return;
    if (keyboard && !this.#isDocked) this.#open = false;
    this.#point(i);
    this.actions.reveal(hit.pane, hit.name, keyboard);
    if (keyboard) this.actions.focusPane();
  }

  /** Shows or hides the list; the hits stay. */
  #unroll(on: boolean): void {
    this.#open = on;
    this.#draw();
  }

  #close(): void {
    this.#hits = [];
    this.#hitsQuery = "";
    this.#unroll(false);
    for (const pane of this.#markedPanes) this.actions.panes[pane].drawing.markHits({});
    this.#markedPanes = [];
  }

  #key(e: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (e.key === "Escape") {
      if (this.#open && (this.#hits.length || this.#note)) this.#close();
      else this.actions.focusPane();
    } else if (e.key === "F3") this.step(e.shiftKey ? -1 : 1);
    else if (e.key === "Enter") {
      // if Enter comes before the answer, it takes the first hit of the answer
      if (this.#hits.length && this.#input.value.trim() === this.#hitsQuery) this.#take(this.#index, true);
      else {
        clearTimeout(this.#timer);
        void this.#search().then(() => this.#take(0, true));
      }
    } else if (step) this.#point(this.#index + step);
    else return;
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
function bold(text: string, words: string[]): Child[] {
  if (!words.length) return breakable(text);
  const any = new RegExp(`(${words.map(word => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")})`, "i");
  return text.split(any).flatMap((part, i) => (i % 2 ? [h("b", breakable(part))] : breakable(part)));
}

/** A name that may continue on the next line after each "/". */
function breakable(name: string): Child[] {
  return name.split(/(?<=\/)/).flatMap(part => (part.endsWith("/") ? [part, h("wbr")] : part ? [part] : []));
}
