// The outline: the tree of scopes on the left, for orientation and for screen readers.
import { consume, figure, hasFocus, scrollToEntry } from "./dom";
import type { Actions } from "../commands/actions";
import { icon } from "./icons";
import { make, draw, h, type VNode } from "./vnodes";
import type { Mode, Row } from "../model/types.generated";

/** Makes the outline. */
export function outlinePanel(actions: Actions) {
  const element = make("nav");
  let shownRows: Row[] = [],
    shownSelection: ReadonlySet<string> = new Set(),
    /** the row that is the Tab stop */ active = "";

  /** Draws the rows if they or the selection have changed. */
  function update(): void {
    const rows = actions.model.get("outline").rows ?? [],
      selected = actions.selected.source;
    if (rows === shownRows && selected === shownSelection) return;
    const had = hasFocus(element);
    shownRows = rows;
    shownSelection = selected;
    if (!rows.some(r => r.name === active)) active = rows[0]?.name ?? "";
    redraw();
    if (had) entryAt("[tabindex='0']")?.focus();
    scrollToSelection();
  }

  /** The selection of the picture is visible here, too. Positions are read when all panels are drawn: the page is laid out once. */
  function scrollToSelection(): void {
    requestAnimationFrame(() => {
      const first = entryAt(".gs-selected");
      if (first && !hasFocus(element)) scrollToEntry(first, element);
    });
  }

  function entryAt(which: string): HTMLElement | null {
    return element.querySelector(`.gs-entry${which}`);
  }

  function redraw(): void {
    draw(
      element,
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
            onkeydown: (e: KeyboardEvent) => press(e),
          },
          shownRows.map(row => lineOf(row)),
        ),
      ),
    );
  }

  function lineOf(row: Row): VNode {
    const folds = isScope(row),
      toggle = () => toggleRow(row);
    return h(
      "div.gs-entry",
      {
        key: row.name,
        class: `gs-entry-${folds ? "scope" : "op"}${shownSelection.has(row.name) ? " gs-selected" : ""}`,
        role: "treeitem",
        tabindex: row.name === active ? 0 : -1,
        "aria-level": row.depth + 1,
        "aria-selected": shownSelection.has(row.name),
        "aria-expanded": folds ? row.open : undefined,
        title: row.name,
        style: `--gs-level:${Math.min(row.depth, 12)}`,
        onfocusin: () => stopAt(row.name),
        onclick: (e: MouseEvent) => {
          (e.currentTarget as HTMLElement).focus();
          if (e.ctrlKey || e.metaKey) select(row, "toggle");
          else reveal(row);
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

  function toggleRow({ name, open }: Row): void {
    actions.post(open ? "outline_close" : "outline_open", { name });
  }

  function reveal({ name }: Row): void {
    actions.reveal("source", name, false);
  }

  function select({ name }: Row, mode: Mode): void {
    actions.select(actions.panes.source, [name], mode);
  }

  function stopAt(name: string): void {
    if (name === active) return;
    active = name;
    redraw();
  }

  function press(e: KeyboardEvent): void {
    const rows = shownRows,
      at = rows.findIndex(r => r.name === active),
      row = rows[at];
    if (!row || e.ctrlKey || e.metaKey || e.altKey) return;
    const folds = isScope(row),
      go = (to: number) => {
        stopAt(rows[Math.max(0, Math.min(rows.length - 1, to))]!.name);
        entryAt("[tabindex='0']")!.focus();
      },
      parent = () => {
        let to = at;
        while (to > 0 && rows[to]!.depth >= row.depth) to--;
        return rows[to]!.depth < row.depth ? to : at;
      },
      toggle = () => toggleRow(row);
    const act = {
      ArrowDown: () => go(at + 1),
      ArrowUp: () => go(at - 1),
      Home: () => go(0),
      End: () => go(rows.length - 1),
      ArrowRight: () => folds && (row.open ? go(at + 1) : toggle()),
      ArrowLeft: () => (folds && row.open ? toggle() : go(parent())),
      Enter: () => reveal(row),
      " ": () => select(row, "set"),
    }[e.key];
    if (!act) return;
    act();
    consume(e);
  }

  return { element, draw: update };
}

function isScope({ kind }: Row): boolean {
  return kind !== "op" && kind !== "variable";
}
