// The view state: what the page knows ahead of Python, or without it. Whoever shows it is told of each change.
import type { PaneName, Verbs } from "./table";
import type { Edge } from "./types";

/** What takes two picks: the first is armed, the second says the other end. */
export type TwoPicks = Extract<keyof Verbs, "connect" | "reroute" | "swap" | "add_control" | "reroute_control">;

export interface ViewState {
  /** What is highlighted, by pane; the source's is Python's `picked`, ahead of it by the answers that are on their way. */
  picked: Record<PaneName, ReadonlySet<string>>;
  /** What the first of two picks has taken: the tensor a connection starts from, or what an edit begins with. */
  armed: { verb: TwoPicks; tensor: string; pane: PaneName; box: string } | null;
  /** The edge that the inspector shows. */
  edge: Edge | null;
  /** Entries of the legend that fade, ahead of Python's answer; null when Python's is right. */
  faded: string[] | null;
  /** What all that is picked now looks like: what was picked before it was looked for. */
  alike: string[] | null;
  /** The pane that keys mean. */
  active: PaneName;
  /** Which panels are open at the sides. */
  sides: { outline: boolean; inspector: boolean };
}

export class Store {
  private state: ViewState = {
    picked: { source: new Set(), destination: new Set() },
    armed: null,
    edge: null,
    faded: null,
    alike: null,
    active: "source",
    sides: { outline: true, inspector: true },
  };
  private heard: (() => void)[] = [];

  get now(): Readonly<ViewState> {
    return this.state;
  }

  /** Changes parts of the state; those who listen are called once. */
  set(changes: Partial<ViewState>): void {
    this.state = { ...this.state, ...changes };
    for (const call of this.heard) call();
  }

  /** Changes what is picked in one pane. */
  pick(pane: PaneName, names: Iterable<string>, more: Partial<ViewState> = {}): void {
    this.set({ ...more, picked: { ...this.state.picked, [pane]: new Set(names) } });
  }

  listen(call: () => void): void {
    this.heard.push(call);
  }
}
