// Back, forward and saved views in a page without a kernel.
import { NO_VIEWS } from "./model";
import type { Views } from "../model/types.generated";

export interface Place {
  open: ReadonlySet<number>;
  selected: string[];
  at: number[];
}

const MOST = 100;

export class PagePlaces {
  #past: Place[] = [];
  #future: Place[] = [];
  #savedViews = new Map<string, Place>();
  #restored = 0;

  views(): Views {
    const saved = [...this.#savedViews.keys()];
    return { ...NO_VIEWS, back: this.#past.length, forward: this.#future.length, restored: this.#restored, saved };
  }

  /** Remembers the current place before going to another place. */
  push(here: Place): void {
    this.#past = [...this.#past.slice(-MOST + 1), here];
    this.#future = [];
  }

  /** The place before or after; null if it does not exist. */
  step(way: "back" | "forward", here: Place): Place | null {
    const [these, others] = way === "back" ? [this.#past, this.#future] : [this.#future, this.#past];
    const place = these.pop() ?? null;
    if (place) others.push(here);
    if (place) this.#restored += 1;
    return place;
  }

  save(name: string | null, place: Place): string {
    let i = 1;
    while (this.#savedViews.has(`view ${i}`)) i++;
    const called = name?.trim() || `view ${i}`;
    this.#savedViews.set(called, place);
    return called;
  }

  view(name: string): Place | undefined {
    return this.#savedViews.get(name);
  }
  forget(name: string): boolean {
    return this.#savedViews.delete(name);
  }
}
