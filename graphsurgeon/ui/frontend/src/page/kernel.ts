// The verbs of Python that a page can answer itself: it folds, searches and shows, but changes nothing.
import type { Details, Direction, ErrorParts, Row, Scene, State, TensorText } from "../model/types";
import type { Verbs } from "../model/verbs.generated";
import { figure } from "../panels/dom";
import { type Engine, Stopped } from "./engine";
import { find, hitsOf } from "./find";
import { MOST, type Packed, PageGraph, TooMany } from "./graph";
import { place } from "./place";
import { LocalModel, NO_BOUNDARY, NO_PLAN } from "./model";
import { PagePlaces, type Place } from "./places";

export interface PageData {
  title: string;
  packed: Packed;
  first: Scene;
  open: string[];
  theme: State["theme"];
  direction: Direction | "auto";
  attributes: Record<string, [string, string][]>;
  docs: Record<string, string>;
}

class No extends Error {
  readonly parts: ErrorParts;

  constructor(request: string, problem: string, suggestion: string) {
    super(problem);
    this.parts = { request, problem, suggestion };
  }
}

const SHOWN = 200;

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
  "forget_view",
  "reveal",
  "details",
  "find",
  "outline_open",
  "outline_close",
  "fade",
  "set_direction",
  "cancel",
];

/** A model for the screen, answered in the page itself. */
export class PageModel extends LocalModel {
  readonly graph: PageGraph;
  #open: Set<number>;
  readonly #opening: ReadonlySet<number>;
  #rows = new Set<string>();
  #kept = new Map<string, Scene>();
  #direction: Direction | "auto";
  #asked = 0;
  #faded: string[] = [];
  readonly #places = new PagePlaces();

  /** `engine` does the layout; null if no engine can run. */
  constructor(
    private readonly data: PageData,
    readonly engine: Engine | null,
  ) {
    const left = data.packed.shut ? ` ${figure(data.packed.shut)} of its scopes are too deep for this page and stay folded.` : "";
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
    this.graph = new PageGraph(data.packed);
    this.#direction = data.direction;
    this.#opening = new Set(data.open.map(name => this.graph.byName.get(name)).filter((i): i is number => i !== undefined));
    this.#open = new Set(this.#opening);
    this.#kept.set(this.#key(), data.first);
    for (const i of this.#open) this.#rows.add(this.graph.row(i)[2]);
    this.put({ scenes: { source: this.#shown(data.first), destination: null }, outline: { rows: this.#outline() } });
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

  #say(text: string, level: State["status"]["level"] = "info"): void {
    this.put({ status: { text, level } });
  }
  #key(): string {
    return [...this.#open].sort((a, b) => a - b).join() + this.#direction;
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
        return this.#go(new Set(this.#opening));
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
        const to = this.#view(args.name, verb);
        this.#places.leave(this.#here());
        await this.#arrive(to);
        return to.at;
      }
      case "forget_view":
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
        return this.put({ scenes: { source: this.#shown(this.state.scenes.source!), destination: null } });
      case "set_direction":
        this.#direction = args.direction;
        return this.#refold(this.#open);
      case "cancel":
        this.engine?.stop("it was cancelled");
        return this.#say("");
      default:
        throw new No(verb, "this is a saved page, which has no kernel", "Open the graph in a notebook with gs.open(...) to change it");
    }
  }

  /** A scene with its legend. */
  #shown(scene: Scene): Scene {
    const items = Object.entries(this.data.packed.families).map(([key, text]) => ({ key, text, colour: "", boxes: 0 }));
    const there = items.filter(item => scene.boxes.some(box => box.family === item.key));
    return { ...scene, legend: { by: "family", title: "", items: there, faded: this.#faded } };
  }

  #row(name: string, request: string): number {
    const i = this.graph.byName.get(name);
    if (i === undefined) throw new No(request, `there is no box '${name.slice(0, 200)}' in this page`, "Search for a part of its name");
    return i;
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

  async #arrive(to: Place): Promise<void> {
    await this.#refold(new Set(to.open), () => ({ selected: to.selected, views: this.#places.shown() }));
    this.#moved();
  }

  /** Opens other scopes, and remembers the current place. */
  async #go(open: Set<number>): Promise<void> {
    const here = this.#here();
    await this.#refold(open);
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
    const rows = this.data.packed.rows.map((_, i) => i);
    return new Set(rows.filter(i => this.graph.opens(i) && this.graph.row(i)[1] !== "call" && this.graph.above(i).length < depth));
  }

  #unfold(name: string): Promise<void> {
    const i = this.#row(name, `unfold('${name.slice(0, 200)}')`);
    if (!this.graph.opens(i)) {
      throw new No(
        `unfold('${name.slice(0, 200)}')`,
        "the ops inside were left out to keep this page small",
        "Open the graph in a notebook, or export a part of it: ed.to_html(unfolded=...)",
      );
    }
    return this.#go(new Set([...this.#open, i]));
  }

  #fold(name: string): Promise<void> {
    const i = this.#row(name, `fold('${name.slice(0, 200)}')`);
    return this.#go(new Set([...this.#open].filter(o => o !== i && !this.graph.above(o).includes(i))));
  }

  async #reveal(name: string): Promise<void> {
    const i = this.#row(name, `reveal('${name.slice(0, 200)}')`),
      above = this.graph.above(i);
    if (!above.every(f => this.#open.has(f))) await this.#go(new Set([...this.#open, ...above]));
    else if (!this.state.selected.includes(name)) {
      this.#places.leave(this.#here());
      this.#moved();
    }
    this.#select([name], "set");
  }

  /** Lays out the open folds; after a failure nothing has changed. */
  async #refold(open: Set<number>, also: () => Partial<State> = () => ({})): Promise<void> {
    const before = this.#open,
      asked = ++this.#asked;
    this.#open = open;
    const key = this.#key();
    try {
      let scene = this.#kept.get(key);
      if (!scene) {
        const unplaced = this.graph.build(open);
        if (!this.engine)
          throw new No(
            "laying out the picture",
            "this browser does not run WebAssembly, so the page only shows its first picture",
            "Open it in a newer browser",
          );
        this.#say(`laying out ${unplaced.boxes.length} boxes`, "busy");
        scene = await place(unplaced, this.graph, this.engine, this.#direction, key);
        this.#kept.set(key, scene);
      }
      if (asked !== this.#asked) return;
      for (const i of open) if (!before.has(i)) this.#rows.add(this.graph.row(i)[2]);
      for (const i of before) if (!open.has(i)) this.#rows.delete(this.graph.row(i)[2]);
      this.put({ scenes: { source: this.#shown(scene), destination: null }, outline: { rows: this.#outline() }, ...also() });
      this.#say([`${scene.boxes.length} boxes`, scene.stats.degraded].filter(Boolean).join(" \u00b7 "));
    } catch (error) {
      if (asked === this.#asked) {
        this.#open = before;
        this.#say("");
      }
      throw this.#refusal(error);
    }
  }

  #refusal(error: unknown): unknown {
    if (error instanceof TooMany) {
      return new No(
        `unfolding '${error.name.slice(0, 80)}'`,
        `the picture would have ${error.count} boxes or more, and the limit is ${MOST}`,
        "Fold something first",
      );
    }
    if (error instanceof Stopped)
      return new No("laying out the picture", error.message, "The picture did not change. Fold a scope and try again");
    return error;
  }

  #find(query: string): unknown {
    try {
      return hitsOf(
        this.graph,
        find(this.graph, query, i => this.#attributes(i)),
        this.#open,
      );
    } catch (error) {
      throw new No(
        `find('${query.slice(0, 100)}')`,
        String(error instanceof Error ? error.message : error),
        "Escape special characters with \\",
      );
    }
  }

  #attributes(i: number): [string, string][] {
    return this.data.attributes[this.graph.row(i)[2]] ?? [];
  }

  #details(name: string): Details {
    const i = this.#row(name, `details('${name.slice(0, 200)}')`),
      row = this.graph.row(i),
      { tensors, reads, controls, waits } = this.data.packed;
    const memo = new Map<number, boolean>();
    const inside = (r: number): boolean => {
      if (r < 0) {
        const fold = this.data.packed.helpers[-1 - r]![0];
        return fold >= 0 && inside(fold);
      }
      let known = memo.get(r);
      if (known === undefined) {
        const up = this.graph.row(r)[0];
        known = r === i || (up >= 0 && inside(up));
        memo.set(r, known);
      }
      return known;
    };
    const text = (t: number): TensorText => ({ tensor: tensors[t]![1], text: tensors[t]![2] });
    const into = new Set<number>(),
      out = new Set<number>(),
      readers = new Set<string>();
    for (const [t, reader] of reads) {
      const a = inside(tensors[t]![0]),
        b = inside(reader);
      if (b && !a) into.add(t);
      else if (a && !b) {
        out.add(t);
        if (reader >= 0) readers.add(this.graph.row(reader)[2]);
      }
    }
    const isOp = row[1] === "op" || row[1] === "variable",
      after = new Set<string>();
    for (const [c, reader] of waits) if (inside(reader) && !inside(controls[c]![0])) after.add(controls[c]![1]);
    const outputs = [...out].slice(0, SHOWN).map(text),
      totals = { inputs: into.size, outputs: out.size, control_inputs: after.size, consumers: readers.size };
    if (isOp && !outputs.length) for (let p = 0; p < row[7]; p++) outputs.push({ tensor: `${name}:${p}`, text: "" });
    const rows: [string, string][] = isOp ? [["type", row[4]], ...this.#attributes(i)] : [["ops", figure(row[5])]];
    return {
      title: name.replace(/\/$/, ""),
      rows,
      inputs: [...into].slice(0, SHOWN).map(text),
      outputs,
      control_inputs: [...after].slice(0, SHOWN),
      consumers: [...readers].slice(0, SHOWN),
      totals,
      doc: this.data.docs[row[4].split(" \u00b7 ")[0]!] ?? "",
    };
  }

  #outline(): Row[] {
    const out: Row[] = [],
      stack: [number, number][] = [...this.graph.roots].reverse().map(i => [i, 0]);
    while (stack.length && out.length < 500) {
      const [i, depth] = stack.pop()!,
        [, kind, name, label, , count] = this.graph.row(i),
        open = this.graph.opens(i) && this.#rows.has(name);
      out.push({ name, label, kind, count, depth, open });
      if (open) for (const child of [...this.graph.children[i]!].reverse()) stack.push([child, depth + 1]);
    }
    return out;
  }
}
