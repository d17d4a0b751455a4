// The outline: the tree of scopes on the left, for orientation and for screen readers.
import { consume, figure, hasFocus, scrollToEntry } from "./dom";
import type { Actions } from "../commands/actions";
import { icon } from "./icons";
import { make, draw, h, type VNode } from "./vnodes";
import type { Mode, Row } from "../model/types.generated";

export class Outline {
  readonly element = make("nav");
  #rows: Row[] = [];
  #selected: ReadonlySet<string> = new Set();
  /** The row that is the Tab stop. */
  #active = "";

  constructor(private readonly actions: Actions) {}

  /** Draws the rows if they or the selection have changed. */
  draw(): void {
    const rows = this.actions.model.get("outline").rows ?? [],
      selected = this.actions.selected.source;
    if (rows === this.#rows && selected === this.#selected) return;
    const had = hasFocus(this.element);
    this.#rows = rows;
    this.#selected = selected;
    if (!rows.some(r => r.name === this.#active)) this.#active = rows[0]?.name ?? "";
    this.#draw();
    if (had) this.#entry("[tabindex='0']")?.focus();
    this.#scroll();
  }

  /** The selection of the picture is visible here, too. Positions are read when all panels are drawn: the page is laid out once. */
  #scroll(): void {
    requestAnimationFrame(() => {
      const first = this.#entry(".gs-selected");
      if (first && !hasFocus(this.element)) scrollToEntry(first, this.element);
    });
  }

  #entry(which: string): HTMLElement | null {
    return this.element.querySelector(`.gs-entry${which}`);
  }

  #draw(): void {
    draw(
      this.element,
      h(
        "nav.gs-outline",
        { "aria-label": "Outline" },
        h("h3.gs-side-title", "Outline"),
        h(
          "div.gs-tree",
          {
            role: "tree",
            "aria-label": "Outline of scopes",
            "aria-multiselectable": "true",
            onkeydown: (e: KeyboardEvent) => this.#key(e),
          },
          this.#rows.map(row => this.#line(row)),
        ),
      ),
    );
  }

  #line(row: Row): VNode {
    const folds = isScope(row),
      toggle = () => this.#toggle(row);
    return h(
      "div.gs-entry",
      {
        key: row.name,
        class: `gs-entry-${folds ? "scope" : "op"}${this.#selected.has(row.name) ? " gs-selected" : ""}`,
        role: "treeitem",
        tabindex: row.name === this.#active ? 0 : -1,
        "aria-level": row.depth + 1,
        "aria-selected": this.#selected.has(row.name),
        "aria-expanded": folds ? row.open : undefined,
        title: row.name,
        style: `--gs-level:${Math.min(row.depth, 12)}`,
        onfocusin: () => this.#stopAt(row.name),
        onclick: (e: MouseEvent) => {
          (e.currentTarget as HTMLElement).focus();
          if (e.ctrlKey || e.metaKey) this.#select(row, "toggle");
          else this.#reveal(row);
        },
        ondblclick: folds && toggle,
      },
      h(
        "span.gs-twist",
        {
          onclick:
            folds &&
            ((e: Event) => {
              e.stopPropagation();
              toggle();
            }),
        },
        folds && icon(row.open ? "open" : "closed"),
      ),
      h("span.gs-entry-label", row.label),
      " ",
      folds && h("span.gs-entry-count", figure(row.count)),
    );
  }

  #toggle({ name, open }: Row): void {
    this.actions.post(open ? "outline_close" : "outline_open", { name });
  }

  #reveal({ name }: Row): void {
    this.actions.reveal("source", name, false);
  }

  #select({ name }: Row, mode: Mode): void {
    this.actions.select(this.actions.panes.source, [name], mode);
  }

  #stopAt(name: string): void {
    if (name === this.#active) return;
    this.#active = name;
    this.#draw();
  }

  #key(e: KeyboardEvent): void {
    const rows = this.#rows,
      at = rows.findIndex(r => r.name === this.#active),
      row = rows[at];
    if (!row || e.ctrlKey || e.metaKey || e.altKey) return;
    const folds = isScope(row),
      go = (to: number) => {
        this.#stopAt(rows[Math.max(0, Math.min(rows.length - 1, to))]!.name);
        this.#entry("[tabindex='0']")!.focus();
      },
      parent = () => {
        let to = at;
        while (to > 0 && rows[to]!.depth >= row.depth) to--;
        return rows[to]!.depth < row.depth ? to : at;
      },
      toggle = () => this.#toggle(row);
    const act = {
      ArrowDown: () => go(at + 1),
      ArrowUp: () => go(at - 1),
      Home: () => go(0),
      End: () => go(rows.length - 1),
      ArrowRight: () => folds && (row.open ? go(at + 1) : toggle()),
      ArrowLeft: () => (folds && row.open ? toggle() : go(parent())),
      Enter: () => this.#reveal(row),
      " ": () => this.#select(row, "set"),
    }[e.key];
    if (!act) return;
    act();
    consume(e);
  }
}

function isScope({ kind }: Row): boolean {
  return kind !== "op" && kind !== "variable";
}
