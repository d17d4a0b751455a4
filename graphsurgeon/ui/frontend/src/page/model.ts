// A model with its state in the page, not in a kernel. Listeners receive each change.
import type { Model } from "../model/api";
import type { Details, MarkedBoundary, Plan, State, Views } from "../model/types.generated";

export const NO_BOUNDARY: MarkedBoundary = {
  inputs: [],
  outputs: [],
  included: [],
  ops: 0,
  boxes: {},
  leak_count: 0,
  leaks: [],
  control_leaks: [],
  variables: 0,
  problem: "",
  is_reversed: false,
};
export const NO_PLAN: Plan = {
  inputs: [],
  scopes: {},
  steps: [],
  mode: "append",
  also_copied: [],
  faults: [],
  warnings: [],
  links: {},
  counts: { ops: 0, variables: 0, placeholders: 0, connections: 0, changed: 0, removed: 0 },
  rows: 0,
  new: [],
  variables: [],
  connections: [],
  code: "",
  ready: false,
  applied: "",
  same: true,
  saved: {},
  history: [],
};

export const NO_DETAILS: Details = {
  title: "",
  rows: [],
  inputs: [],
  outputs: [],
  control_inputs: [],
  consumers: [],
  totals: {},
  doc: "",
  histogram: null,
  value: false,
  python: "",
};

export const NO_VIEWS: Views = { back: 0, forward: 0, undo: 0, redo: 0, restored: 0, saved: [], signatures: [], signature: "" };

export abstract class LocalModel implements Model {
  readonly heard = new Map<string, Set<(...args: any[]) => void>>();

  constructor(readonly state: State) {}

  abstract send(message: unknown): void;

  get<K extends keyof State>(name: K): State[K] {
    return this.state[name];
  }
  on(event: string, call: (...args: any[]) => void): void {
    if (!this.heard.has(event)) this.heard.set(event, new Set());
    this.heard.get(event)!.add(call);
  }
  off(event: string, call: (...args: any[]) => void): void {
    this.heard.get(event)?.delete(call);
  }
  emit(event: string, data?: unknown): void {
    for (const call of [...(this.heard.get(event) ?? [])]) call(data);
  }
  update(changed: Partial<State>): void {
    Object.assign(this.state, changed);
    for (const name in changed) this.emit("change:" + name);
  }
}
