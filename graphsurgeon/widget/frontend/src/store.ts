// The view state: what the page knows ahead of Python, or without it. Whoever shows it is told of each change.
import type { PaneName, Verbs } from "./verbs";
import type { Edge } from "./types";

/** What takes two ends: the first is armed, the second says the other end. */
export type TwoEnds = Extract<keyof Verbs, "connect" | "reroute" | "swap" | "add_control" | "reroute_control">;

export interface ViewState {
  /** What is highlighted, by pane; the source's is Python's `selected`, ahead of it by the answers that are on their way. */
  selected: Record<PaneName, ReadonlySet<string>>;
  /** What the first of two ends has taken: the tensor a connection starts from, or what an edit begins with. */
  armed: { verb: TwoEnds; tensor: string; pane: PaneName; box: string } | null;
  /** The edge that the inspector shows. */
  edge: Edge | null;
  /** Entries of the legend that fade, ahead of Python's answer; null when Python's is right. */
  faded: string[] | null;
  /** What all that is selected now looks like: what was selected before it was looked for. */
  alike: string[] | null;
  /** The pane that keys mean. */
  active: PaneName;
  /** Which panels are open at the sides. */
  sides: { outline: boolean; inspector: boolean };
}

export class Store {
  #state: ViewState = {
    selected: { source: new Set(), destination: new Set() },
    armed: null,
    edge: null,
    faded: null,
    alike: null,
    active: "source",
    sides: { outline: true, inspector: true },
  };
  #heard: (() => void)[] = [];

  get now(): Readonly<ViewState> {
    return this.#state;
  }

  /** Changes parts of the state; those who listen are called once. */
  set(changes: Partial<ViewState>): void {
    this.#state = { ...this.#state, ...changes };
    for (const call of this.#heard) call();
  }

  /** Changes what is selected in one pane. */
  select(pane: PaneName, names: Iterable<string>, more: Partial<ViewState> = {}): void {
    this.set({ ...more, selected: { ...this.#state.selected, [pane]: new Set(names) } });
  }

  listen(call: () => void): void {
    this.#heard.push(call);
  }
}
