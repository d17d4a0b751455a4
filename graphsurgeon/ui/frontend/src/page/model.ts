// A model with its state in the page, not in a kernel. Listeners receive each change.
import type { Boundary, Model, Plan, State } from "../model/types";

export const NO_BOUNDARY: Boundary = {
  inputs: [],
  outputs: [],
  ops: 0,
  boxes: {},
  leaks: [],
  control_leaks: [],
  variables: 0,
  problem: "",
};
export const NO_PLAN: Plan = {
  steps: [],
  faults: [],
  warnings: [],
  counts: { ops: 0, variables: 0, placeholders: 0, connections: 0 },
  new: [],
  variables: [],
  connections: [],
  code: "",
  ready: false,
  applied: "",
};

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
