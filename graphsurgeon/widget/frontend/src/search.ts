// The search box with its list of hits.
import { Refused } from "./api";
import { bring, field, figure, fill, h, handled } from "./dom";
import { icon } from "./icons";
import type { Found, Hit } from "./types";

const WAIT = 160;

export class Search {
  readonly #input = field({
    type: "search",
    placeholder: "Search ops  ( / )",
    role: "combobox",
    "aria-label": "Search ops",
    "aria-expanded": "false",
    "aria-autocomplete": "list",
  });
  readonly #list = h("div", { class: "gs-hits", role: "listbox", "aria-label": "Search results", hidden: true });
  readonly #note = h("div", { class: "gs-hits-note", hidden: true });
  readonly #drop = h("div", { class: "gs-drop", hidden: true }, this.#list, this.#note);
  readonly element: HTMLElement;
  #hits: Hit[] = [];
  #at = 0;
  #timer = 0;
  #asked = "";

  constructor(
    id: string,
    private readonly find: (query: string) => Promise<Found>,
    private readonly reveal: (hit: Hit) => void,
    private readonly leave: () => void,
    private readonly found: (boxes: Record<string, number>) => void = () => {},
  ) {
    this.#list.id = `${id}-hits`;
    this.#input.setAttribute("aria-controls", this.#list.id);
    this.element = h("div", { class: "gs-search" }, icon("search"), this.#input, this.#drop);
    this.#input.addEventListener("input", () => {
      clearTimeout(this.#timer);
      this.#timer = window.setTimeout(() => this.#ask(), WAIT);
    });
    this.#input.addEventListener("keydown", e => this.#key(e));
    this.#input.addEventListener("blur", () =>
      window.setTimeout(() => {
        if (document.activeElement !== this.#input) this.#close();
      }, 150),
    );
  }

  focus(): void {
    this.#input.focus();
    this.#input.select();
  }
  stop(): void {
    clearTimeout(this.#timer);
  }

  async #ask(): Promise<void> {
    const query = this.#input.value.trim();
    this.#asked = query;
    if (!query) return this.#close();
    try {
      const found = await this.find(query);
      // an answer to what is no longer asked is of no use
      if (query !== this.#asked) return;
      this.found(found.boxes ?? {});
      this.#show(found.hits, found.total);
    } catch (error) {
      // a pattern may be wrong as long as it is not typed to its end
      if (query === this.#asked) this.#show([], 0, error instanceof Refused ? error.message : "");
    }
  }

  #show(hits: Hit[], total: number, wrong = ""): void {
    this.#hits = hits;
    this.#at = 0;
    fill(
      this.#list,
      ...hits.map((hit, i) =>
        h(
          "div",
          {
            class: "gs-hit",
            role: "option",
            id: `${this.#list.id}-${i}`,
            on: { pointerdown: (e: Event) => e.preventDefault(), click: () => this.#take(i) },
          },
          h("span", { class: "gs-hit-name" }, hit.name),
          h("span", { class: "gs-hit-op" }, hit.op),
        ),
      ),
    );
    fill(
      this.#note,
      wrong ||
        (!hits.length
          ? "Nothing found. Try net/*, /regex/, op:Conv2D, dtype:, shape:?x8, device:, attr:padding=SAME, layer:, is:unknown, -word"
          : total > hits.length
            ? `${hits.length} of ${figure(total)}: type more to narrow it down.`
            : ""),
    );
    this.#list.hidden = !hits.length;
    this.#note.hidden = !this.#note.textContent;
    this.#drop.hidden = false;
    this.#input.setAttribute("aria-expanded", String(hits.length > 0));
    this.#point();
  }

  #point(): void {
    [...this.#list.children].forEach((e, i) => {
      e.classList.toggle("gs-on", i === this.#at);
      e.setAttribute("aria-selected", String(i === this.#at));
    });
    const on = this.#list.children[this.#at];
    if (on) {
      this.#input.setAttribute("aria-activedescendant", on.id);
      bring(on, this.#list);
    } else this.#input.removeAttribute("aria-activedescendant");
  }

  #take(i: number): void {
    const hit = this.#hits[i];
    if (!hit) return;
    this.#close();
    this.#input.value = "";
    this.reveal(hit);
    this.leave();
  }

  #close(): void {
    this.#list.hidden = this.#note.hidden = this.#drop.hidden = true;
    this.#hits = [];
    this.found({});
    this.#input.setAttribute("aria-expanded", "false");
    this.#input.removeAttribute("aria-activedescendant");
  }

  #key(e: KeyboardEvent): void {
    if (e.key === "Escape") {
      if (!this.#list.hidden || !this.#note.hidden) this.#close();
      else this.leave();
    } else if (e.key === "Enter") {
      // Enter may come before the answer: then it takes the first hit once there is one
      if (this.#hits.length && this.#input.value.trim() === this.#asked) this.#take(this.#at);
      else {
        clearTimeout(this.#timer);
        void this.#ask().then(() => this.#take(0));
      }
    } else if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      if (this.#hits.length) this.#at = (this.#at + (e.key === "ArrowDown" ? 1 : -1) + this.#hits.length) % this.#hits.length;
      this.#point();
    } else return;
    handled(e);
  }
}
