// The view state: the part of the state that the page has before Python, or without it. Listeners receive each change.
import type { PaneName, Verbs } from "./verbs";
import type { Tool } from "./pointer";
import type { Boundary, Edge, Takers } from "./types";

/** What takes two ends: the first is armed, the second says the other end. */
export type TwoEnds = Extract<keyof Verbs, "connect" | "reroute" | "swap" | "add_control" | "reroute_control">;

/** What is shown alone in a pane: boxes of some names, or what is so many steps from them. */
export interface LensOf {
  kind: "near" | "alone";
  pane: PaneName;
  names: string[];
  near: number;
  text: string;
}

export interface ViewState {
  /** What is highlighted, by pane; the source's is Python's `selected`, ahead of it by the answers that are on their way. */
  selected: Record<PaneName, ReadonlySet<string>>;
  /** What the first of two ends has taken: the tensor a connection starts from, or what an edit begins with. */
  armed: {
    verb: TwoEnds;
    tensor: string;
    pane: PaneName;
    box: string;
    /** boxes of the consumers that are meant */ only?: string[] | undefined;
  } | null;
  /** What could read the tensor that a connection starts from, once the kernel has said so. */
  takers: Takers | null;
  /** What is shown alone; the rest steps back. */
  lens: LensOf | null;
  /** A boundary that is looked at before it is chosen. */
  tried: Boundary | null;
  /** What a plain drag on the canvas does. */
  tool: Tool;
  /** A tensor is asked for: what it is for, and who takes the next one that is clicked. */
  picking: { ask: string; take(tensor: string): void } | null;
  /** The edge that the inspector shows. */
  edge: Edge | null;
  /** The change of the plan that is looked at. */
  change: { pane: PaneName; name: string } | null;
  /** Entries of the legend that fade, ahead of Python's answer; null when Python's is right. */
  faded: string[] | null;
  /** What all that is selected now looks like: what was selected before it was looked for. */
  alike: string[] | null;
  /** The pane that keys mean. */
  active: PaneName;
  /** Which panels are open at the sides. */
  sides: { outline: boolean; inspector: boolean; plan: boolean };
  /** Whether only one pane is shown although there is room for two. */
  alone: boolean;
}

export class Store {
  #state: ViewState = {
    selected: { source: new Set(), destination: new Set() },
    armed: null,
    takers: null,
    lens: null,
    tried: null,
    tool: "select",
    picking: null,
    edge: null,
    change: null,
    faded: null,
    alike: null,
    active: "source",
    sides: { outline: true, inspector: true, plan: true },
    alone: false,
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
