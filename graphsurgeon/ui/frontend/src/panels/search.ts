// The search box with its list of hits of both panes; the list stays until it is hidden, above the inspector, which it does not cover.
import type { Actions } from "../commands/actions";
import { CommandError } from "../model/api";
import { consume, countOf, figure, focused, scrollToEntry } from "./dom";
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

/** The hits of a query, their number, and the note below them. */
interface HitList {
  query: string;
  hits: HitLine[];
  total: number;
  note: string;
}
const EMPTY: HitList = { query: "", hits: [], total: 0, note: "" };

/** Makes the search box. */
export function searchBox(id: string, actions: Actions) {
  const element = make("div"),
    drop = make("div");
  let shown = EMPTY,
    /** the last query */ wanted = "",
    isOpen = false,
    isDocked = false,
    index = 0,
    timer = 0,
    markedPanes: PaneName[] = [];

  /** Searches the graphs of both panes. */
  function find(query: string): Promise<PaneHits[]> {
    const { api, panes } = actions;
    return Promise.all(
      (["source", "destination"] as const)
        .filter(pane => pane === "source" || panes[pane].scene)
        .map(async pane => ({ pane, result: await api.call("find", { query, pane }) })),
    );
  }

  function input(): HTMLInputElement {
    return element.querySelector("input")!;
  }

  function focus(): void {
    input().focus();
    input().select();
  }

  /** Goes to the next hit, or with -1 to the previous one. */
  function step(by: number): void {
    if (!shown.hits.length) return focus();
    point(index + by);
    const { pane, name } = shown.hits[index]!;
    actions.reveal(pane, name, focused() !== input());
  }

  /** Searches again after a picture has changed: its boxes and its ops may differ. The list stays at its hit. */
  function refresh(): void {
    if (!markedPanes.length || !wanted) return;
    const query = wanted,
      old = shown.hits[index];
    void find(query)
      .then(all => {
        if (query !== wanted) return;
        mark(all);
        if (query !== shown.query) return;
        shown = listOf(query, all);
        point(
          Math.max(
            0,
            shown.hits.findIndex(hit => hit.pane === old?.pane && hit.name === old.name),
          ),
        );
      })
      .catch(() => {});
  }

  async function search(): Promise<void> {
    const query = (wanted = input().value.trim());
    if (!query) return close();
    try {
      const all = await find(query);
      // ignore the answer to an old query
      if (query !== wanted) return;
      mark(all);
      shown = listOf(query, all);
    } catch (error) {
      // a pattern may be invalid while it is being typed
      if (query !== wanted) return;
      shown = listOf(shown.query, [], error instanceof CommandError ? error.message : "");
    }
    isOpen = true;
    point(0);
  }

  function mark(all: PaneHits[]): void {
    markedPanes = all.map(({ pane }) => pane);
    for (const { pane, result } of all) actions.panes[pane].drawing.markHits(result.boxes);
  }

  function listOf(query: string, all: PaneHits[], wrong = ""): HitList {
    // a preview has mostly the ops of its source: they are listed once
    const names = new Set(all[0]?.result.hits.map(hit => hit.name)),
      { model, isSingleGraph } = actions,
      parts = all.flatMap(({ pane, result: { hits: found } }) => {
        const hits = found.filter(hit => pane === "source" || !isSingleGraph || !names.has(hit.name));
        return hits.length ? [{ pane, hits, found: found.length }] : [];
      }),
      total = Math.max(0, ...all.map(({ result }) => result.total)),
      plain = /^\w+$/.test(wanted) ? ` by name; op:${wanted} searches by type` : "";
    const hits = parts.flatMap(({ pane, hits }) => {
      const texts = distinct(hits.map(hit => hit.name));
      return hits.map(({ name, op }, i) => ({
        pane,
        name,
        op,
        text: texts[i]!,
        head: !i && parts.length > 1 && model.get("titles")[pane],
      }));
    });
    const note =
      wrong ||
      (!parts.length
        ? `Nothing found${plain}. Try ${QUERIES}, -word, /regex/, dtype:, device:, layer:, is:unknown`
        : total > Math.max(...parts.map(part => part.found))
          ? `${figure(parts[0]!.found)} of ${figure(total)}: type more to narrow it down.`
          : "");
    return { query, hits, total, note };
  }

  function redraw(): void {
    const list = `${id}-hits`,
      { hits, total, note, query } = shown,
      some = isOpen && hits.length > 0,
      noted = isOpen && !!note,
      [names, types] = searchWords(query);
    const hide = () => {
      clear();
      actions.focusPane();
    };
    draw(
      element,
      h(
        "div.gs-search",
        icon("search"),
        field({
          type: "search",
          placeholder: "Search ( / )",
          "aria-label": "Search ops",
          "aria-describedby": `${id}-queries`,
          "data-verb": "find",
          ...combobox(list, some, index),
          oninput: () => {
            clearTimeout(timer);
            timer = window.setTimeout(search, WAIT);
          },
          onkeydown: press,
          onfocus: () => unroll(shown.hits.length > 0),
          onblur: () =>
            window.setTimeout(() => {
              if (focused() !== input() && !isDocked) unroll(false);
            }, 150),
        }),
        h("div.gs-queries", { id: `${id}-queries` }, `name, ${QUERIES}`),
      ),
    );
    draw(
      drop,
      h(
        "div.gs-drop",
        { hidden: !some && !noted, class: isDocked && "gs-docked" },
        h(
          "div.gs-hits-head",
          h("span.gs-muted", countOf(total, "hits")),
          button({ icon: "close", label: "Hide results (Esc)", kind: "quiet", onclick: hide }),
        ),
        h(
          "div.gs-hits",
          { id: list, role: "listbox", "aria-label": "Search results", hidden: !some },
          hits.map(({ name, text, op, head }, i) => {
            const cut = text.replace(/\/$/, "").lastIndexOf("/") + 1;
            return [
              head && h("div.gs-hits-of", { role: "presentation" }, head),
              option(
                list,
                i,
                index,
                { title: name, onpointerdown: (e: Event) => e.preventDefault(), onclick: () => take(i, isDocked) },
                h("span.gs-hit-name", h("span.gs-hit-path", bold(text.slice(0, cut), names)), bold(text.slice(cut), names)),
                h("span.gs-hit-op", bold(op, types)),
              ),
            ];
          }),
        ),
        h("div.gs-hits-note", { hidden: !noted }, note),
      ),
    );
  }

  /** Highlights a hit; after the last one, the first one again. */
  function point(to: number): void {
    const n = shown.hits.length;
    index = n && (to + n) % n;
    redraw();
    const on = drop.querySelector(".gs-on");
    if (on) scrollToEntry(on, on.parentElement!);
  }

  function take(i: number, keyboard: boolean): void {
    const hit = shown.hits[i];
    if (!hit) return;
    if (keyboard && !isDocked) isOpen = false;
    point(i);
    actions.reveal(hit.pane, hit.name, keyboard);
    if (keyboard) actions.focusPane();
  }

  /** Shows or hides the list; the hits stay. */
  function unroll(on: boolean): void {
    isOpen = on;
    redraw();
  }

  /** Removes the hits from the pictures. */
  function clear(): void {
    input().value = wanted = "";
    close();
  }

  function close(): void {
    shown = EMPTY;
    unroll(false);
    for (const pane of markedPanes) actions.panes[pane].drawing.markHits({});
    markedPanes = [];
  }

  function press(e: KeyboardEvent): void {
    const by = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (e.key === "Escape") {
      if (isOpen && (shown.hits.length || shown.note)) close();
      else actions.focusPane();
    } else if (e.key === "F3") step(e.shiftKey ? -1 : 1);
    else if (e.key === "Enter") {
      // if Enter comes before the answer, it takes the first hit of the answer
      if (shown.hits.length && input().value.trim() === shown.query) take(index, true);
      else {
        clearTimeout(timer);
        void search().then(() => take(0, true));
      }
    } else if (by) point(index + by);
    else return;
    consume(e);
  }

  redraw();
  element.append(drop);
  return {
    element,
    focus,
    step,
    refresh,
    clear,
    /** Whether hits are marked in the pictures. */
    get on(): boolean {
      return markedPanes.length > 0;
    },
    /** The element for a permanent list that covers nothing; without one the list opens below the search field. */
    dock(place: HTMLElement | null): void {
      if (!!place === isDocked) return;
      isDocked = !!place;
      (place ?? element)[place ? "prepend" : "append"](drop);
      unroll(shown.hits.length > 0 && (isDocked || focused() === input()));
    },
    stop(): void {
      clearTimeout(timer);
    },
  };
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
