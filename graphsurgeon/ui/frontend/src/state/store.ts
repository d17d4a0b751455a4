// The view state: state that the page changes before Python, or without it.
import type { Boundary, Edge, InputCandidates, PaneName, Verbs } from "../model/types.generated";

/** An edit with two ends: the first arms it, the second completes it. */
export type TwoEndEdit = Extract<keyof Verbs, "reroute" | "swap" | "add_control" | "reroute_control">;

/** A tensor that is being connected, the box that makes it, and its possible consumers after the answer of the kernel. */
export interface Connecting {
  tensor: string;
  pane: PaneName;
  box: string;
  candidates?: InputCandidates | undefined;
}

/** The only boxes that a pane shows: boxes of some names, or all up to a number of steps from them. */
export interface LensOf {
  pane: PaneName;
  names: string[];
  /** The number of steps; 0 for the boxes alone. */ near: number;
  text: string;
}

/** A request for a tensor or an op, which the next click chooses. */
export interface Picking {
  purpose: string;
  /** what to click */ how: string;
  /** whether ops are chosen, not tensors */ ops?: true | undefined;
  /** the first end, if the second end of an edit is requested */ from?: { verb: TwoEndEdit; pane: PaneName; box: string };
  take(chosen: string): void;
}

export interface ViewState {
  /** The selection of each pane. For the source it is Python's `selected`, with the changes that Python has not answered yet. */
  selected: Record<PaneName, ReadonlySet<string>>;
  connecting: Connecting | null;
  /** The only boxes that are not faded. */
  lens: LensOf | null;
  /** A suggested boundary that is previewed. */
  suggestedBoundary: Boundary | null;
  /** The next click chooses a tensor or an op. */
  picking: Picking | null;
  /** The edge that the inspector shows. */
  edge: Edge | null;
  /** The current change of the plan. */
  change: { pane: PaneName; name: string } | null;
  /** Faded entries of the legend before Python's answer; null to use Python's entries. */
  faded: string[] | null;
  /** The pattern of the current selection: the boxes that were selected before the search. */
  similarTo: string[] | null;
  /** The active pane, in which keys act. */
  active: PaneName;
  /** Which panels are open at the sides. */
  sides: { outline: boolean; inspector: boolean; plan: boolean };
  /** Whether only one pane is shown although there is space for two. */
  alone: boolean;
}

export class Store {
  state: Readonly<ViewState> = {
    selected: { source: new Set(), destination: new Set() },
    connecting: null,
    lens: null,
    suggestedBoundary: null,
    picking: null,
    edge: null,
    change: null,
    faded: null,
    similarTo: null,
    active: "source",
    sides: { outline: true, inspector: true, plan: true },
    alone: false,
  };
  /** Is called after each change. */
  onChange = (): void => {};

  /** Changes parts of the state. */
  set(changes: Partial<ViewState>): void {
    this.state = { ...this.state, ...changes };
    this.onChange();
  }

  /** Changes the selection of one pane. */
  select(pane: PaneName, names: Iterable<string>, more: Partial<ViewState> = {}): void {
    this.set({ ...more, selected: { ...this.state.selected, [pane]: new Set(names) } });
  }
}
