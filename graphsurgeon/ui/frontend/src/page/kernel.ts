// The verbs of Python that a page can answer itself: it folds, searches and shows, but changes nothing.
import { CommandError } from "../model/api";
import type { Results, Row, Scene, State, Verbs, Views } from "../model/types.generated";
import type { PageData } from "./data";
import { searchOf } from "./find";
import { LocalModel } from "./model";
import { picture } from "./nest";

/** The verbs that a page answers, with their answers. */
type Answers = { [V in keyof Verbs]?: (args: Verbs[V]) => V extends keyof Results ? Results[V] : void };

/** The open scopes, the selection and the camera. */
interface Place {
  open: ReadonlySet<number>;
  selected: string[];
  at: number[];
}

/** The maximum number of places for Back. */
const MOST = 100;

function refusal(request: string, problem: string, suggestion: string): CommandError {
  return new CommandError({ request, problem, suggestion });
}

/** A model for the screen, answered in the page itself. */
export class PageModel extends LocalModel {
  readonly #byName = new Map<string, number>();
  readonly #search: ReturnType<typeof searchOf>;
  #open: ReadonlySet<number>;
  #rows: Set<string>;
  #faded: string[] = [];
  #places: Record<"back" | "forward", Place[]> = { back: [], forward: [] };
  #savedViews = new Map<string, Place>();
  #restored = 0;

  constructor(private readonly data: PageData) {
    super(data.state);
    this.state.answers = Object.keys(this.#answers);
    for (const [i, { name }] of data.rows.entries()) this.#byName.set(name, i);
    this.#search = searchOf(data);
    this.#open = new Set(data.open);
    this.#rows = new Set(data.open.map(i => data.rows[i]!.name));
    this.#show(this.#open);
  }

  send({ id, verb, args }: any): void {
    void this.#answer(verb, args).then(
      result => this.emit("msg:custom", { v: 1, id, ok: true, result }),
      error =>
        this.emit("msg:custom", {
          v: 1,
          id,
          ok: false,
          error:
            error instanceof CommandError
              ? error.parts
              : { request: verb, problem: String(error?.message ?? error), suggestion: "Reload the page" },
        }),
    );
  }

  async #answer(verb: keyof Verbs, args: any): Promise<unknown> {
    await Promise.resolve();
    const answer = this.#answers[verb];
    if (answer) return answer(args);
    throw refusal(verb, "this is a saved page, which has no kernel", "Open the graph in a notebook with gs.open(...) to change it");
  }

  readonly #answers: Answers = {
    select: ({ names, mode }) => this.#select(names, mode),
    unfold: ({ name }) => {
      const i = this.#row(name, "unfold");
      if (!this.data.inside[i])
        throw refusal(
          `unfold('${name.slice(0, 200)}')`,
          "the ops inside were left out to keep this page small",
          "Open the graph in a notebook, or export a part of it: ed.to_html(open_folds=...)",
        );
      this.#go(new Set([...this.#open, i]));
    },
    fold: ({ name }) => {
      const i = this.#row(name, "fold");
      this.#go(new Set([...this.#open].filter(o => o !== i && !this.#above(o).includes(i))));
    },
    fold_all: () => this.#go(new Set(this.data.open)),
    // calls stay closed
    set_depth: ({ depth }) => {
      const rows = Object.keys(this.data.inside).map(Number);
      this.#go(new Set(rows.filter(i => i >= 0 && this.data.rows[i]!.kind !== "call" && this.#above(i).length < depth)));
    },
    back: () => this.#step("back", "forward", "there is no earlier view"),
    forward: () => this.#step("forward", "back", "there is no later view"),
    save_view: ({ name, at }) => {
      let i = 1;
      while (this.#savedViews.has(`view ${i}`)) i++;
      const called = name?.trim() || `view ${i}`;
      this.#savedViews.set(called, { ...this.#here, at: at ?? [] });
      this.#updateViews();
      this.#showStatus(`saved as '${called}', for as long as this page is open`);
      return called;
    },
    show_view: ({ name }) => {
      const to = this.#view(name, "show_view");
      this.#show(to.open, to, this.#here);
      return to.at;
    },
    delete_view: ({ name }) => {
      this.#view(name, "delete_view");
      this.#savedViews.delete(name);
      this.#updateViews();
      this.#showStatus(`'${name}' is deleted`);
    },
    reveal: ({ name }) => this.#reveal(name),
    details: ({ name }) => {
      const i = this.#row(name, "details"),
        { subtitle, kind } = this.data.rows[i]!,
        doc = kind === "op" || kind === "variable" ? (this.data.docs[subtitle.split(" \u00b7 ")[0]!] ?? "") : "",
        scope = name.endsWith("/") ? `ed.select(scope='${name.slice(0, -1)}')` : `ed.op('${name}')`,
        python = name.startsWith("~") ? "" : scope,
        none = { control_inputs: [], consumers: [], totals: {}, histogram: null, value: false };
      return { ...none, title: name, doc, python, ...this.data.details[i]! };
    },
    edge_tensors: ({ source, target, control }) => {
      const [from, to] = [source, target].map(name => this.#row(name, "edge_tensors")),
        [, , , ...tensors] = this.data[control ? "controls" : "edges"].find(edge => edge[0] === from && edge[1] === to) ?? [];
      return { tensors: tensors.map(i => this.data.tensors[i as number]!).map(([tensor, text]) => ({ tensor, text })), values: [] };
    },
    find: ({ query }) => {
      try {
        return this.#search(query, row => this.#visible(row));
      } catch (error) {
        const problem = String(error instanceof Error ? error.message : error);
        throw refusal(`find('${query.slice(0, 100)}')`, problem, "Escape special characters with \\");
      }
    },
    outline_open: ({ name }) => {
      this.#rows.add(name);
      this.update({ outline: { rows: this.#outline() } });
    },
    outline_close: ({ name }) => {
      this.#rows.delete(name);
      this.update({ outline: { rows: this.#outline() } });
    },
    fade: ({ keys }) => {
      this.#faded = keys;
      this.update({ scenes: { source: this.#withColors(this.state.scenes.source!), destination: null } });
    },
  };

  #showStatus(text: string): void {
    this.update({ status: { text, level: "info" } });
  }

  /** A scene with its legend. */
  #withColors(scene: Scene): Scene {
    const items = Object.entries(this.data.families).map(([key, text]) => ({ key, text, color: "", boxes: 0 }));
    const there = items.filter(item => scene.boxes.some(box => box.family === item.key));
    return { ...scene, legend: { by: "family", title: "", items: there, faded: this.#faded } };
  }

  #row(name: string, verb: string): number {
    const i = this.#byName.get(name);
    if (i === undefined)
      throw refusal(`${verb}('${name.slice(0, 200)}')`, "there is no such box in this page", "Search for a part of its name");
    return i;
  }

  /** The folds around a row, outermost first. */
  #above(i: number): number[] {
    const out: number[] = [];
    for (let at = this.data.rows[i]!.parent; at >= 0; at = this.data.rows[at]!.parent) out.unshift(at);
    return out;
  }

  get #here(): Place {
    return { open: this.#open, selected: this.state.selected, at: [] };
  }

  get #views(): Views {
    const { back, forward } = this.#places,
      saved = [...this.#savedViews.keys()];
    return {
      back: back.length,
      forward: forward.length,
      undo: 0,
      redo: 0,
      restored: this.#restored,
      saved,
      signatures: [],
      signature: "",
    };
  }

  #updateViews(): void {
    this.update({ views: this.#views });
  }

  #view(name: string, verb: string): Place {
    const found = this.#savedViews.get(name);
    if (!found) throw refusal(`${verb}('${String(name).slice(0, 100)}')`, "no saved view has this name", "Save one first");
    return found;
  }

  /** Goes to the place before or after. */
  #step(way: "back" | "forward", other: "back" | "forward", none: string): void {
    const to = this.#places[way].pop();
    if (!to) throw refusal(way, none, "Unfold something first");
    this.#places[other].push(this.#here);
    this.#restored++;
    this.#show(to.open, to);
  }

  /** Opens other scopes, and remembers the current place. */
  #go(open: ReadonlySet<number>): void {
    this.#show(open, this.state, this.#here);
  }

  #remember(here: Place): void {
    this.#places = { back: [...this.#places.back.slice(-MOST + 1), here], forward: [] };
  }

  #select(names: string[], mode: string): void {
    const next = new Set(mode === "set" ? [] : this.state.selected);
    for (const name of names)
      if (mode === "toggle" && next.has(name)) next.delete(name);
      else next.add(name);
    this.update({ selected: [...next] });
    this.#showStatus(next.size ? `${next.size} selected` : "nothing selected");
  }

  #reveal(name: string): void {
    const { names, holders, rows } = this.data,
      op = names.indexOf(name),
      i = this.#byName.get(name) ?? holders[op] ?? -1;
    if (i < 0) {
      const hidden = op >= 0;
      throw refusal(
        `reveal('${name.slice(0, 200)}')`,
        hidden ? "this op is hidden, and no box shows it" : "there is no such op in this page",
        hidden ? "Open the graph in a notebook to show hidden ops" : "Search for a part of its name",
      );
    }
    const above = this.#above(i),
      own = rows[i]!.name;
    if (!above.every(f => this.#open.has(f))) this.#go(new Set([...this.#open, ...above]));
    else if (!this.state.selected.includes(own)) {
      this.#remember(this.#here);
      this.#updateViews();
    }
    this.#select([own], "set");
    if (own !== name) this.#showStatus(`'${name.slice(0, 200)}' has no separate box: it is in '${own.slice(0, 200)}', or helps it`);
  }

  /** Draws the open folds with a selection, and remembers the place before them; if they do not fit, nothing has changed. */
  #show(open: ReadonlySet<number>, { selected }: Pick<State, "selected"> = this.state, before?: Place): void {
    const scene = picture(this.data, open),
      isFirst = !this.state.views;
    if (before) this.#remember(before);
    for (const i of open) if (!this.#open.has(i)) this.#rows.add(this.data.rows[i]!.name);
    for (const i of this.#open) if (!open.has(i)) this.#rows.delete(this.data.rows[i]!.name);
    this.#open = open;
    this.update({
      scenes: { source: this.#withColors(scene), destination: null },
      outline: { rows: this.#outline() },
      selected,
      views: this.#views,
    });
    if (!isFirst) this.#showStatus(`${scene.boxes.length} boxes`);
  }

  /** The name of the visible box that contains a row; empty if it is an open scope, or there is none. */
  #visible(i: number): string {
    if (i < 0 || (this.#open.has(i) && this.#above(i).every(f => this.#open.has(f)))) return "";
    return this.data.rows[this.#above(i).find(f => !this.#open.has(f)) ?? i]!.name;
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
