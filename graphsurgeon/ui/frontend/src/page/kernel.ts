// The verbs of Python that a page can answer itself: it folds, searches and shows, but changes nothing.
import type { Details, ErrorParts, Row, Scene, State } from "../model/types";
import type { Verbs } from "../model/verbs.generated";
import { figure } from "../panels/dom";
import { Finder, type Searchable } from "./find";
import { LocalModel, NO_BOUNDARY, NO_PLAN } from "./model";
import { type Nesting, picture, TooMany } from "./nest";
import { PagePlaces, type Place } from "./places";

export interface PageData extends Nesting, Searchable {
  title: string;
  theme: State["theme"];
  rows: (Nesting["rows"][number] & Searchable["rows"][number])[];
  /** The rows that are open at first. */ open: number[];
  families: Record<string, string>;
  docs: Record<string, string>;
  /** The number of folds whose contents were left out. */ shut: number;
}

class No extends Error {
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
  "find",
  "outline_open",
  "outline_close",
  "fade",
];

/** A model for the screen, answered in the page itself. */
export class PageModel extends LocalModel {
  readonly #byName = new Map<string, number>();
  readonly #finder: Finder;
  readonly #places = new PagePlaces();
  #open: ReadonlySet<number>;
  #rows: Set<string>;
  #faded: string[] = [];

  constructor(private readonly data: PageData) {
    const left = data.shut ? ` ${figure(data.shut)} of its scopes are too deep for this page and stay folded.` : "";
    super({
      protocol: 1,
      scenes: { source: null, destination: null },
      titles: { source: data.title, destination: "" },
      selected: [],
      boundary: NO_BOUNDARY,
      plan: NO_PLAN,
      status: { text: `A saved picture: it folds, unfolds and searches without a kernel.${left}`, level: "info" },
      outline: { rows: [] },
      theme: data.theme,
      still: true,
      answers: ANSWERS,
    });
    for (const [i, { name }] of data.rows.entries()) this.#byName.set(name, i);
    this.#finder = new Finder(data);
    this.#open = new Set(data.open);
    this.#rows = new Set(data.open.map(i => data.rows[i]!.name));
    this.#show(this.#open);
    this.#moved();
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
            error instanceof No ? error.parts : { request: verb, problem: String(error?.message ?? error), suggestion: "Reload the page" },
        }),
    );
  }

  #say(text: string): void {
    this.put({ status: { text, level: "info" } });
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
        return this.#go(new Set(this.data.open));
      case "set_depth":
        return this.#go(this.#opened(args.depth));
      case "back":
      case "forward": {
        const to = this.#places.step(verb, this.#here());
        if (!to) throw new No(verb, verb === "back" ? "there is no earlier view" : "there is no later view", "Unfold something first");
        return this.#arrive(to);
      }
      case "save_view": {
        const name = this.#places.save(args.name, { ...this.#here(), at: args.at ?? [] });
        this.#moved();
        this.#say(`saved as '${name}', for as long as this page is open`);
        return name;
      }
      case "show_view": {
        const to = this.#view(args.name, verb),
          here = this.#here();
        this.#arrive(to);
        this.#places.leave(here);
        this.#moved();
        return to.at;
      }
      case "delete_view":
        this.#view(args.name, verb);
        this.#places.forget(args.name);
        this.#moved();
        return this.#say(`'${args.name}' is deleted`);
      case "reveal":
        return this.#reveal(args.name);
      case "details":
        return this.#details(args.name);
      case "find":
        return this.#find(args.query);
      case "outline_open":
      case "outline_close":
        if (verb === "outline_open") this.#rows.add(args.name);
        else this.#rows.delete(args.name);
        return this.put({ outline: { rows: this.#outline() } });
      case "fade":
        this.#faded = args.keys;
        return this.put({ scenes: { source: this.#colored(this.state.scenes.source!), destination: null } });
      default:
        throw new No(verb, "this is a saved page, which has no kernel", "Open the graph in a notebook with gs.open(...) to change it");
    }
  }

  /** A scene with its legend. */
  #colored(scene: Scene): Scene {
    const items = Object.entries(this.data.families).map(([key, text]) => ({ key, text, color: "", boxes: 0 }));
    const there = items.filter(item => scene.boxes.some(box => box.family === item.key));
    return { ...scene, legend: { by: "family", title: "", items: there, faded: this.#faded } };
  }

  #row(name: string, verb: string): number {
    const i = this.#byName.get(name);
    if (i === undefined)
      throw new No(`${verb}('${name.slice(0, 200)}')`, "there is no such box in this page", "Search for a part of its name");
    return i;
  }

  /** The folds around a row, outermost first. */
  #above(i: number): number[] {
    const out: number[] = [];
    for (let at = this.data.rows[i]!.parent; at >= 0; at = this.data.rows[at]!.parent) out.unshift(at);
    return out;
  }

  #here(): Place {
    return { open: this.#open, selected: this.state.selected, at: [] };
  }
  #moved(): void {
    this.put({ views: this.#places.shown() });
  }

  #view(name: string, verb: string): Place {
    const found = this.#places.view(name);
    if (!found) throw new No(`${verb}('${String(name).slice(0, 100)}')`, "no saved view has this name", "Save one first");
    return found;
  }

  #arrive(to: Place): void {
    this.#show(to.open, { selected: to.selected, views: this.#places.shown() });
    this.#moved();
  }

  /** Opens other scopes, and remembers the current place. */
  #go(open: ReadonlySet<number>): void {
    const here = this.#here();
    this.#show(open);
    this.#places.leave(here);
    this.#moved();
  }

  #select(names: string[], mode: string): void {
    const next = new Set(mode === "set" ? [] : this.state.selected);
    for (const name of names)
      if (mode === "toggle" && next.has(name)) next.delete(name);
      else next.add(name);
    this.put({ selected: [...next] });
    this.#say(next.size ? `${next.size} selected` : "nothing selected");
  }

  /** The scopes down to a depth; calls stay closed. */
  #opened(depth: number): Set<number> {
    const rows = Object.keys(this.data.inside).map(Number);
    return new Set(rows.filter(i => i >= 0 && this.data.rows[i]!.kind !== "call" && this.#above(i).length < depth));
  }

  #unfold(name: string): void {
    const i = this.#row(name, "unfold");
    if (!this.data.inside[i]) {
      throw new No(
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
    const i = this.#byName.get(name) ?? this.#finder.row(name) ?? -1;
    if (i < 0) {
      const hidden = this.data.names.includes(name);
      throw new No(
        `reveal('${name.slice(0, 200)}')`,
        hidden ? "this op is hidden, and no box shows it" : "there is no such op in this page",
        hidden ? "Open the graph in a notebook to show hidden ops" : "Search for a part of its name",
      );
    }
    const above = this.#above(i),
      own = this.data.rows[i]!.name;
    if (!above.every(f => this.#open.has(f))) this.#go(new Set([...this.#open, ...above]));
    else if (!this.state.selected.includes(own)) {
      this.#places.leave(this.#here());
      this.#moved();
    }
    this.#select([own], "set");
    if (own !== name) this.#say(`'${name.slice(0, 200)}' has no separate box: it is in '${own.slice(0, 200)}', or helps it`);
  }

  /** Draws the open folds; if they do not fit, nothing has changed. */
  #show(open: ReadonlySet<number>, also: Partial<State> = {}): void {
    let scene: Scene;
    try {
      scene = picture(this.data, open);
    } catch (error) {
      if (!(error instanceof TooMany)) throw error;
      const problem = `the picture would have ${error.count} boxes, and the limit is ${this.data.limits.boxes}`;
      throw new No("unfolding", problem, "Fold something first");
    }
    for (const i of open) if (!this.#open.has(i)) this.#rows.add(this.data.rows[i]!.name);
    for (const i of this.#open) if (!open.has(i)) this.#rows.delete(this.data.rows[i]!.name);
    this.#open = open;
    this.put({ scenes: { source: this.#colored(scene), destination: null }, outline: { rows: this.#outline() }, ...also });
    if (this.state.views) this.#say(`${scene.boxes.length} boxes`);
  }

  /** The name of the visible box that contains a row; empty if it is an open scope, or there is none. */
  #visible(i: number): string {
    if (i < 0 || (this.#open.has(i) && this.#above(i).every(f => this.#open.has(f)))) return "";
    return this.data.rows[this.#above(i).find(f => !this.#open.has(f)) ?? i]!.name;
  }

  #find(query: string): unknown {
    try {
      return this.#finder.find(query, row => this.#visible(row));
    } catch (error) {
      const problem = String(error instanceof Error ? error.message : error);
      throw new No(`find('${query.slice(0, 100)}')`, problem, "Escape special characters with \\");
    }
  }

  #details(name: string): Details {
    const i = this.#row(name, "details"),
      { subtitle, kind } = this.data.rows[i]!,
      doc = kind === "op" || kind === "variable" ? (this.data.docs[subtitle.split(" \u00b7 ")[0]!] ?? "") : "";
    return { title: name, rows: [], inputs: [], outputs: [], control_inputs: [], consumers: [], doc, ...this.data.details[i] };
  }

  #outline(): Row[] {
    const out: Row[] = [],
      visit = (row: number, depth: number) => {
        for (const [child] of this.data.inside[row]!.rects) {
          const { name, label, kind, count } = this.data.rows[child]!,
            open = child in this.data.inside && this.#rows.has(name);
          if (out.length >= 500) return;
          out.push({ name, label, kind, count, depth, open });
          if (open) visit(child, depth + 1);
        }
      };
    visit(-1, 0);
    return out;
  }
}
