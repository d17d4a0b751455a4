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

/** The model of a page, which answers the screen itself. */
export function pageModel(data: PageData): LocalModel {
  const model = new LocalModel(data.state),
    byName = new Map(data.rows.map(({ name }, i) => [name, i])),
    search = searchOf(data),
    openRows = new Set(data.open.map(i => data.rows[i]!.name)),
    savedViews = new Map<string, Place>();
  let openFolds: ReadonlySet<number> = new Set(data.open),
    faded: string[] = [],
    places: Record<"back" | "forward", Place[]> = { back: [], forward: [] },
    restored = 0;

  const answers: Answers = {
    select: ({ names, mode }) => select(names, mode),
    unfold: ({ name }) => {
      const i = rowOf(name, "unfold");
      if (!data.inside[i])
        throw refusal(
          `unfold('${name.slice(0, 200)}')`,
          "the ops inside were left out to keep this page small",
          "Open the graph in a notebook, or export a part of it: ed.to_html(open_folds=...)",
        );
      go(new Set([...openFolds, i]));
    },
    fold: ({ name }) => {
      const i = rowOf(name, "fold");
      go(new Set([...openFolds].filter(o => o !== i && !around(o).includes(i))));
    },
    fold_all: () => go(new Set(data.open)),
    // calls stay closed
    set_depth: ({ depth }) => {
      const rows = Object.keys(data.inside).map(Number);
      go(new Set(rows.filter(i => i >= 0 && data.rows[i]!.kind !== "call" && around(i).length < depth)));
    },
    back: () => step("back", "forward", "there is no earlier view"),
    forward: () => step("forward", "back", "there is no later view"),
    save_view: ({ name, at }) => {
      let i = 1;
      while (savedViews.has(`view ${i}`)) i++;
      const called = name?.trim() || `view ${i}`;
      savedViews.set(called, { ...here(), at: at ?? [] });
      updateViews();
      showStatus(`saved as '${called}', for as long as this page is open`);
      return called;
    },
    show_view: ({ name }) => {
      const to = savedView(name, "show_view");
      show(to.open, to, here());
      return to.at;
    },
    delete_view: ({ name }) => {
      savedView(name, "delete_view");
      savedViews.delete(name);
      updateViews();
      showStatus(`'${name}' is deleted`);
    },
    reveal: ({ name }) => reveal(name),
    details: ({ name }) => {
      const i = rowOf(name, "details"),
        { subtitle, kind } = data.rows[i]!,
        doc = kind === "op" || kind === "variable" ? (data.docs[subtitle.split(" \u00b7 ")[0]!] ?? "") : "",
        scope = name.endsWith("/") ? `ed.select(scope='${name.slice(0, -1)}')` : `ed.op('${name}')`,
        python = name.startsWith("~") ? "" : scope,
        none = { control_inputs: [], consumers: [], totals: {}, histogram: null, value: false };
      return { ...none, title: name, doc, python, ...data.details[i]! };
    },
    edge_tensors: ({ source, target, control }) => {
      const [from, to] = [source, target].map(name => rowOf(name, "edge_tensors")),
        [, , , ...tensors] = data[control ? "controls" : "edges"].find(edge => edge[0] === from && edge[1] === to) ?? [];
      return { tensors: tensors.map(i => data.tensors[i as number]!).map(([tensor, text]) => ({ tensor, text })), values: [] };
    },
    find: ({ query }) => {
      try {
        return search(query, row => visibleBox(row));
      } catch (error) {
        const problem = String(error instanceof Error ? error.message : error);
        throw refusal(`find('${query.slice(0, 100)}')`, problem, "Escape special characters with \\");
      }
    },
    outline_open: ({ name }) => {
      openRows.add(name);
      model.update({ outline: { rows: outlineRows() } });
    },
    outline_close: ({ name }) => {
      openRows.delete(name);
      model.update({ outline: { rows: outlineRows() } });
    },
    fade: ({ keys }) => {
      faded = keys;
      model.update({ scenes: { source: withColors(model.state.scenes.source!), destination: null } });
    },
  };

  function showStatus(text: string): void {
    model.update({ status: { text, level: "info" } });
  }

  /** A scene with its legend. */
  function withColors(scene: Scene): Scene {
    const items = Object.entries(data.families).map(([key, text]) => ({ key, text, color: "", boxes: 0 }));
    const there = items.filter(item => scene.boxes.some(box => box.family === item.key));
    return { ...scene, legend: { by: "family", title: "", items: there, faded: faded } };
  }

  function rowOf(name: string, verb: string): number {
    const i = byName.get(name);
    if (i === undefined)
      throw refusal(`${verb}('${name.slice(0, 200)}')`, "there is no such box in this page", "Search for a part of its name");
    return i;
  }

  /** The folds around a row, outermost first. */
  function around(i: number): number[] {
    const out: number[] = [];
    for (let at = data.rows[i]!.parent; at >= 0; at = data.rows[at]!.parent) out.unshift(at);
    return out;
  }

  function here(): Place {
    return { open: openFolds, selected: model.state.selected, at: [] };
  }

  function views(): Views {
    const { back, forward } = places,
      saved = [...savedViews.keys()];
    return {
      back: back.length,
      forward: forward.length,
      undo: 0,
      redo: 0,
      restored,
      saved,
      signatures: [],
      signature: "",
    };
  }

  function updateViews(): void {
    model.update({ views: views() });
  }

  function savedView(name: string, verb: string): Place {
    const found = savedViews.get(name);
    if (!found) throw refusal(`${verb}('${String(name).slice(0, 100)}')`, "no saved view has this name", "Save one first");
    return found;
  }

  /** Goes to the place before or after. */
  function step(way: "back" | "forward", other: "back" | "forward", none: string): void {
    const to = places[way].pop();
    if (!to) throw refusal(way, none, "Unfold something first");
    places[other].push(here());
    restored++;
    show(to.open, to);
  }

  /** Opens other scopes, and remembers the current place. */
  function go(open: ReadonlySet<number>): void {
    show(open, model.state, here());
  }

  function remember(place: Place): void {
    places = { back: [...places.back.slice(-MOST + 1), place], forward: [] };
  }

  function select(names: string[], mode: string): void {
    const next = new Set(mode === "set" ? [] : model.state.selected);
    for (const name of names)
      if (mode === "toggle" && next.has(name)) next.delete(name);
      else next.add(name);
    model.update({ selected: [...next] });
    showStatus(next.size ? `${next.size} selected` : "nothing selected");
  }

  function reveal(name: string): void {
    const { names, holders, rows } = data,
      op = names.indexOf(name),
      i = byName.get(name) ?? holders[op] ?? -1;
    if (i < 0) {
      const hidden = op >= 0;
      throw refusal(
        `reveal('${name.slice(0, 200)}')`,
        hidden ? "this op is hidden, and no box shows it" : "there is no such op in this page",
        hidden ? "Open the graph in a notebook to show hidden ops" : "Search for a part of its name",
      );
    }
    const above = around(i),
      own = rows[i]!.name;
    if (!above.every(f => openFolds.has(f))) go(new Set([...openFolds, ...above]));
    else if (!model.state.selected.includes(own)) {
      remember(here());
      updateViews();
    }
    select([own], "set");
    if (own !== name) showStatus(`'${name.slice(0, 200)}' has no separate box: it is in '${own.slice(0, 200)}', or helps it`);
  }

  /** Draws the open folds with a selection, and remembers the place before them; if they do not fit, nothing has changed. */
  function show(open: ReadonlySet<number>, { selected }: Pick<State, "selected"> = model.state, before?: Place): void {
    const scene = picture(data, open),
      isFirst = !model.state.views;
    if (before) remember(before);
    for (const i of open) if (!openFolds.has(i)) openRows.add(data.rows[i]!.name);
    for (const i of openFolds) if (!open.has(i)) openRows.delete(data.rows[i]!.name);
    openFolds = open;
    model.update({
      scenes: { source: withColors(scene), destination: null },
      outline: { rows: outlineRows() },
      selected,
      views: views(),
    });
    if (!isFirst) showStatus(`${scene.boxes.length} boxes`);
  }

  /** The name of the visible box that contains a row; empty if it is an open scope, or there is none. */
  function visibleBox(i: number): string {
    if (i < 0 || (openFolds.has(i) && around(i).every(f => openFolds.has(f)))) return "";
    return data.rows[around(i).find(f => !openFolds.has(f)) ?? i]!.name;
  }

  function outlineRows(): Row[] {
    const out: Row[] = [],
      visit = (row: number, depth: number) => {
        for (const [child] of data.inside[row]!.rects) {
          const { name, label, kind, count } = data.rows[child]!,
            open = child in data.inside && openRows.has(name);
          if (out.length >= 500) return;
          out.push({ name, label, kind, count, depth, open });
          if (open) visit(child, depth + 1);
        }
      };
    visit(-1, 0);
    return out;
  }

  async function answer(verb: keyof Verbs, args: any): Promise<unknown> {
    await Promise.resolve();
    const act = answers[verb];
    if (act) return act(args);
    throw refusal(verb, "this is a saved page, which has no kernel", "Open the graph in a notebook with gs.open(...) to change it");
  }

  model.send = ({ id, verb, args }) =>
    void answer(verb, args).then(
      result => model.emit("msg:custom", { v: 1, id, ok: true, result }),
      error =>
        model.emit("msg:custom", {
          v: 1,
          id,
          ok: false,
          error:
            error instanceof CommandError
              ? error.parts
              : { request: verb, problem: String(error?.message ?? error), suggestion: "Reload the page" },
        }),
    );
  model.state.answers = Object.keys(answers);
  show(openFolds);
  return model;
}
