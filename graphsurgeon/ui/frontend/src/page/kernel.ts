// The verbs of Python that a page can answer itself: it folds, searches and shows, but changes nothing.
import type { Details, EdgeTensors, ErrorParts, Row, Scene, State, Verbs } from "../model/types.generated";
import { figure } from "../panels/dom";
import type { PageData } from "./data";
import { PageSearch } from "./find";
import { LocalModel, NO_BOUNDARY, NO_DETAILS, NO_PLAN } from "./model";
import { picture, TooMany } from "./nest";
import { PagePlaces, type Place } from "./places";

class KernelError extends Error {
  readonly parts: ErrorParts;

  constructor(request: string, problem: string, suggestion: string) {
    super(problem);
    this.parts = { request, problem, suggestion };
  }
}

/** The verbs that a page answers: they only look. */
const ANSWERS: readonly (keyof Verbs)[] = [
  "select",
  "unfold",
  "fold",
  "fold_all",
  "set_depth",
  "back",
  "forward",
  "save_view",
  "show_view",
  "delete_view",
  "reveal",
  "details",
  "edge_tensors",
  "find",
  "outline_open",
  "outline_close",
  "fade",
];

/** A model for the screen, answered in the page itself. */
export class PageModel extends LocalModel {
  readonly #byName = new Map<string, number>();
  readonly #search: PageSearch;
  readonly #history = new PagePlaces();
  #open: ReadonlySet<number>;
  #rows: Set<string>;
  #faded: string[] = [];

  readonly #data: PageData;

  constructor(data: PageData) {
    const left = data.shut ? ` ${figure(data.shut)} of its scopes are too deep for this page and stay folded.` : "";
    super({
      scenes: { source: null, destination: null },
      titles: { source: data.title, destination: "" },
      selected: [],
      boundary: NO_BOUNDARY,
      plan: NO_PLAN,
      status: { text: `A saved picture: it folds, unfolds and searches without a kernel.${left}`, level: "info" },
      outline: { rows: [] },
      theme: data.theme,
      still: true,
      answers: [...ANSWERS],
    });
    this.#data = data;
    for (const [i, { name }] of data.rows.entries()) this.#byName.set(name, i);
    this.#search = new PageSearch(data);
    this.#open = new Set(data.open);
    this.#rows = new Set(data.open.map(i => data.rows[i]!.name));
    this.#show(this.#open);
    this.#updateViews();
  }

  send(message: any): void {
    const { id, verb, args } = message;
    void this.#answer(verb, args).then(
      result => this.emit("msg:custom", { v: 1, id, ok: true, result }),
      error =>
        this.emit("msg:custom", {
          v: 1,
          id,
          ok: false,
          error:
            error instanceof KernelError
              ? error.parts
              : { request: verb, problem: String(error?.message ?? error), suggestion: "Reload the page" },
        }),
    );
  }

  #showStatus(text: string): void {
    this.update({ status: { text, level: "info" } });
  }

  async #answer(verb: string, args: any): Promise<unknown> {
    await Promise.resolve();
    switch (verb) {
      case "select":
        return this.#select(args.names, args.mode);
      case "unfold":
        return this.#unfold(args.name);
      case "fold":
        return this.#fold(args.name);
      case "fold_all":
        return this.#go(new Set(this.#data.open));
      case "set_depth":
        return this.#go(this.#openTo(args.depth));
      case "back":
      case "forward": {
        const to = this.#history.step(verb, this.#currentPlace());
        if (!to)
          throw new KernelError(verb, verb === "back" ? "there is no earlier view" : "there is no later view", "Unfold something first");
        return this.#arrive(to);
      }
      case "save_view": {
        const name = this.#history.save(args.name, { ...this.#currentPlace(), at: args.at ?? [] });
        this.#updateViews();
        this.#showStatus(`saved as '${name}', for as long as this page is open`);
        return name;
      }
      case "show_view": {
        const to = this.#view(args.name, verb),
          here = this.#currentPlace();
        this.#arrive(to);
        this.#history.push(here);
        this.#updateViews();
        return to.at;
      }
      case "delete_view":
        this.#view(args.name, verb);
        this.#history.forget(args.name);
        this.#updateViews();
        return this.#showStatus(`'${args.name}' is deleted`);
      case "reveal":
        return this.#reveal(args.name);
      case "details":
        return this.#details(args.name);
      case "edge_tensors":
        return this.#edgeTensors(args);
      case "find":
        return this.#find(args.query);
      case "outline_open":
      case "outline_close":
        if (verb === "outline_open") this.#rows.add(args.name);
        else this.#rows.delete(args.name);
        return this.update({ outline: { rows: this.#outline() } });
      case "fade":
        this.#faded = args.keys;
        return this.update({ scenes: { source: this.#withColors(this.state.scenes.source!), destination: null } });
      default:
        throw new KernelError(
          verb,
          "this is a saved page, which has no kernel",
          "Open the graph in a notebook with gs.open(...) to change it",
        );
    }
  }

  /** A scene with its legend. */
  #withColors(scene: Scene): Scene {
    const items = Object.entries(this.#data.families).map(([key, text]) => ({ key, text, color: "", boxes: 0 }));
    const there = items.filter(item => scene.boxes.some(box => box.family === item.key));
    return { ...scene, legend: { by: "family", title: "", items: there, faded: this.#faded } };
  }

  #row(name: string, verb: string): number {
    const i = this.#byName.get(name);
    if (i === undefined)
      throw new KernelError(`${verb}('${name.slice(0, 200)}')`, "there is no such box in this page", "Search for a part of its name");
    return i;
  }

  /** The folds around a row, outermost first. */
  #above(i: number): number[] {
    const out: number[] = [];
    for (let at = this.#data.rows[i]!.parent; at >= 0; at = this.#data.rows[at]!.parent) out.unshift(at);
    return out;
  }

  #currentPlace(): Place {
    return { open: this.#open, selected: this.state.selected, at: [] };
  }
  #updateViews(): void {
    this.update({ views: this.#history.views() });
  }

  #view(name: string, verb: string): Place {
    const found = this.#history.view(name);
    if (!found) throw new KernelError(`${verb}('${String(name).slice(0, 100)}')`, "no saved view has this name", "Save one first");
    return found;
  }

  #arrive(to: Place): void {
    this.#show(to.open, { selected: to.selected, views: this.#history.views() });
    this.#updateViews();
  }

  /** Opens other scopes, and remembers the current place. */
  #go(open: ReadonlySet<number>): void {
    const here = this.#currentPlace();
    this.#show(open);
    this.#history.push(here);
    this.#updateViews();
  }

  #select(names: string[], mode: string): void {
    const next = new Set(mode === "set" ? [] : this.state.selected);
    for (const name of names)
      if (mode === "toggle" && next.has(name)) next.delete(name);
      else next.add(name);
    this.update({ selected: [...next] });
    this.#showStatus(next.size ? `${next.size} selected` : "nothing selected");
  }

  /** The scopes down to a depth; calls stay closed. */
  #openTo(depth: number): Set<number> {
    const rows = Object.keys(this.#data.inside).map(Number);
    return new Set(rows.filter(i => i >= 0 && this.#data.rows[i]!.kind !== "call" && this.#above(i).length < depth));
  }

  #unfold(name: string): void {
    const i = this.#row(name, "unfold");
    if (!this.#data.inside[i]) {
      throw new KernelError(
        `unfold('${name.slice(0, 200)}')`,
        "the ops inside were left out to keep this page small",
        "Open the graph in a notebook, or export a part of it: ed.to_html(open_folds=...)",
      );
    }
    this.#go(new Set([...this.#open, i]));
  }

  #fold(name: string): void {
    const i = this.#row(name, "fold");
    this.#go(new Set([...this.#open].filter(o => o !== i && !this.#above(o).includes(i))));
  }

  #reveal(name: string): void {
    const i = this.#byName.get(name) ?? this.#search.row(name) ?? -1;
    if (i < 0) {
      const hidden = this.#data.names.includes(name);
      throw new KernelError(
        `reveal('${name.slice(0, 200)}')`,
        hidden ? "this op is hidden, and no box shows it" : "there is no such op in this page",
        hidden ? "Open the graph in a notebook to show hidden ops" : "Search for a part of its name",
      );
    }
    const above = this.#above(i),
      own = this.#data.rows[i]!.name;
    if (!above.every(f => this.#open.has(f))) this.#go(new Set([...this.#open, ...above]));
    else if (!this.state.selected.includes(own)) {
      this.#history.push(this.#currentPlace());
      this.#updateViews();
    }
    this.#select([own], "set");
    if (own !== name) this.#showStatus(`'${name.slice(0, 200)}' has no separate box: it is in '${own.slice(0, 200)}', or helps it`);
  }

  /** Draws the open folds; if they do not fit, nothing has changed. */
  #show(open: ReadonlySet<number>, also: Partial<State> = {}): void {
    let scene: Scene;
    try {
      scene = picture(this.#data, open);
    } catch (error) {
      if (!(error instanceof TooMany)) throw error;
      const problem = `the picture would have ${error.count} boxes, and the limit is ${this.#data.limits.boxes}`;
      throw new KernelError("unfolding", problem, "Fold something first");
    }
    for (const i of open) if (!this.#open.has(i)) this.#rows.add(this.#data.rows[i]!.name);
    for (const i of this.#open) if (!open.has(i)) this.#rows.delete(this.#data.rows[i]!.name);
    this.#open = open;
    this.update({ scenes: { source: this.#withColors(scene), destination: null }, outline: { rows: this.#outline() }, ...also });
    if (this.state.views) this.#showStatus(`${scene.boxes.length} boxes`);
  }

  /** The name of the visible box that contains a row; empty if it is an open scope, or there is none. */
  #visible(i: number): string {
    if (i < 0 || (this.#open.has(i) && this.#above(i).every(f => this.#open.has(f)))) return "";
    return this.#data.rows[this.#above(i).find(f => !this.#open.has(f)) ?? i]!.name;
  }

  #find(query: string): unknown {
    try {
      return this.#search.find(query, row => this.#visible(row));
    } catch (error) {
      const problem = String(error instanceof Error ? error.message : error);
      throw new KernelError(`find('${query.slice(0, 100)}')`, problem, "Escape special characters with \\");
    }
  }

  #details(name: string): Details {
    const i = this.#row(name, "details"),
      { subtitle, kind } = this.#data.rows[i]!,
      doc = kind === "op" || kind === "variable" ? (this.#data.docs[subtitle.split(" \u00b7 ")[0]!] ?? "") : "",
      scope = name.endsWith("/") ? `ed.select(scope='${name.slice(0, -1)}')` : `ed.op('${name}')`,
      python = name.startsWith("~") ? "" : scope;
    return { ...NO_DETAILS, title: name, doc, python, ...this.#data.details[i] };
  }

  #edgeTensors({ source, target, control }: Verbs["edge_tensors"]): EdgeTensors {
    const [from, to] = [source, target].map(name => this.#row(name, "edge_tensors")),
      [, , , ...tensors] = this.#data[control ? "controls" : "edges"].find(edge => edge[0] === from && edge[1] === to) ?? [];
    return { tensors: tensors.map(i => this.#data.tensors[i as number]!).map(([tensor, text]) => ({ tensor, text })), values: [] };
  }

  #outline(): Row[] {
    const out: Row[] = [],
      visit = (row: number, depth: number) => {
        for (const [child] of this.#data.inside[row]!.rects) {
          const { name, label, kind, count } = this.#data.rows[child]!,
            open = child in this.#data.inside && this.#rows.has(name);
          if (out.length >= 500) return;
          out.push({ name, label, kind, count, depth, open });
          if (open) visit(child, depth + 1);
        }
      };
    visit(-1, 0);
    return out;
  }
}
