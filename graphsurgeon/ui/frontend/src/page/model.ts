// A model with its state in the page, not in a kernel. Listeners receive each change.
import type { Model } from "../model/api";
import type { State } from "../model/types.generated";

export class LocalModel implements Model {
  readonly heard = new Map<string, Set<(...args: any[]) => void>>();

  constructor(readonly state: State) {}

  /** Receives the messages of the screen. */
  send(_message: any): void {}

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
