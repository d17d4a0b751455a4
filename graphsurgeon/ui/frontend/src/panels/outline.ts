// The outline: the tree of scopes on the left, for orientation and for screen readers.
import { arrange, scrollToEntry, figure, h, consume, hasFocus, setAttribute, focused } from "./dom";
import { icon } from "./icons";
import type { Mode, Row } from "../model/types.generated";

export interface OutlineEvents {
  toggle(row: Row): void;
  reveal(row: Row): void;
  select(row: Row, mode: Mode): void;
}

export class Outline {
  readonly #tree = h("div", { class: "gs-tree", role: "tree", "aria-label": "Outline of scopes", "aria-multiselectable": "true" });
  readonly element = h("nav", { class: "gs-outline", "aria-label": "Outline" }, h("h3", { class: "gs-side-title" }, "Outline"), this.#tree);
  #rows: { row: Row; element: HTMLElement }[] = [];
  #active = "";

  readonly #events: OutlineEvents;

  constructor(events: OutlineEvents) {
    this.#events = events;
    this.#tree.addEventListener("keydown", e => this.#key(e));
    this.#tree.addEventListener("focusin", e => {
      const found = this.#rows.find(r => r.element === e.target);
      if (found) this.#rove(found.row.name);
    });
  }

  update(rows: Row[], selected: ReadonlySet<string>): void {
    const had = hasFocus(this.#tree);
    const old = new Map(this.#rows.map(r => [JSON.stringify(r.row), r]));
    this.#rows = rows.map(row => old.get(JSON.stringify(row)) ?? { row, element: this.#line(row) });
    arrange(
      this.#tree,
      this.#rows.map(r => r.element),
    );
    if (!rows.some(r => r.name === this.#active)) this.#active = rows[0]?.name ?? "";
    this.#rove(this.#active, had);
    this.select(selected);
  }

  select(selected: ReadonlySet<string>): void {
    for (const { row, element } of this.#rows) {
      element.classList.toggle("gs-selected", selected.has(row.name));
      setAttribute(element, "aria-selected", selected.has(row.name));
    }
    // the selection of the picture is visible here, too
    const first = this.#rows.find(r => selected.has(r.row.name))?.element;
    if (first && !hasFocus(this.#tree)) scrollToEntry(first, this.element);
  }

  #line(row: Row): HTMLElement {
    const folds = row.kind !== "op" && row.kind !== "variable";
    const twist = h(
      "span",
      {
        class: "gs-twist",
        on: {
          click: (e: Event) => {
            if (folds) {
              e.stopPropagation();
              this.#events.toggle(row);
            }
          },
        },
      },
      folds && icon(row.open ? "open" : "closed"),
    );
    const n = folds ? figure(row.count) : "";
    return h(
      "div",
      {
        class: `gs-entry gs-entry-${folds ? "scope" : "op"}`,
        role: "treeitem",
        tabindex: -1,
        "aria-level": row.depth + 1,
        "aria-expanded": folds ? String(row.open) : undefined,
        title: row.name,
        style: `--gs-level:${Math.min(row.depth, 12)}`,
        on: {
          click: (e: MouseEvent) => {
            this.#rove(row.name, true);
            if (e.ctrlKey || e.metaKey) this.#events.select(row, "toggle");
            else this.#events.reveal(row);
          },
          dblclick: () => {
            if (folds) this.#events.toggle(row);
          },
        },
      },
      twist,
      h("span", { class: "gs-entry-label" }, row.label),
      " ",
      n && h("span", { class: "gs-entry-count" }, n),
    );
  }

  #rove(name: string, focus = false): void {
    this.#active = name;
    for (const { row, element } of this.#rows) {
      const on = row.name === name;
      setAttribute(element, "tabindex", on ? "0" : "-1");
      if (on && focus && focused() !== element) element.focus({ preventScroll: false });
    }
  }

  #key(e: KeyboardEvent): void {
    const at = this.#rows.findIndex(r => r.row.name === this.#active),
      row = this.#rows[at]?.row;
    if (!row || e.ctrlKey || e.metaKey || e.altKey) return;
    const folds = row.kind !== "op" && row.kind !== "variable";
    const go = (to: number) => {
      const r = this.#rows[Math.max(0, Math.min(this.#rows.length - 1, to))];
      if (r) this.#rove(r.row.name, true);
    };
    const parent = () => {
      for (let i = at - 1; i >= 0; i--) if (this.#rows[i]!.row.depth < row.depth) return i;
      return at;
    };
    switch (e.key) {
      case "ArrowDown":
        go(at + 1);
        break;
      case "ArrowUp":
        go(at - 1);
        break;
      case "Home":
        go(0);
        break;
      case "End":
        go(this.#rows.length - 1);
        break;
      case "ArrowRight":
        if (folds && !row.open) this.#events.toggle(row);
        else if (folds) go(at + 1);
        break;
      case "ArrowLeft":
        if (folds && row.open) this.#events.toggle(row);
        else go(parent());
        break;
      case "Enter":
        this.#events.reveal(row);
        break;
      case " ":
        this.#events.select(row, "set");
        break;
      default:
        return;
    }
    consume(e);
  }
}
