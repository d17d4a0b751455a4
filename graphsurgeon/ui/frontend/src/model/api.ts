// Sends verbs to Python and matches the answers to them.
import type { Results } from "./results.generated";
import type { Verbs } from "./verbs.generated";
import type { ErrorParts, Model } from "./types";

export type Result<V extends keyof Verbs> = V extends keyof Results ? Results[V] : unknown;

/** Sends a verb without waiting for its answer. */
export type Ask = <V extends keyof Verbs>(verb: V, args: Verbs[V]) => void;

export const VERSION = 1;

// events of the notebook's widget manager for a model without a kernel
const GONE = ["comm_live_update", "comm:close"];
const NOBODY = {
  problem: "the kernel of this graph has stopped, so the picture no longer changes",
  suggestion: "Rerun the cell",
};

/** The message for the user. */
export const GONE_TEXT = `${NOBODY.problem[0]!.toUpperCase()}${NOBODY.problem.slice(1)}. ${NOBODY.suggestion}.`;

/** A verb that Python refused; the message has all three parts. */
export class Refused extends Error {
  constructor(readonly parts: ErrorParts) {
    super(`${parts.request}: ${sentence(parts.problem)} ${sentence(parts.suggestion)}`);
  }

  /** The problem and the suggestion. */
  get said(): string {
    return `${sentence(this.parts.problem)} ${sentence(this.parts.suggestion)}`;
  }
}

function sentence(text: string): string {
  return /[.?!]$/.test(text.trim()) ? text.trim() : text.trim() + ".";
}

interface Waiting {
  done(result: any): void;
  failed(error: Refused): void;
  verb: string;
}

export class Api {
  #waiting = new Map<number, Waiting>();
  // all views of a model receive all answers: two views must not use the same numbers
  #next = Math.floor(Math.random() * 2 ** 30) * 2 ** 20 + 1;

  #gone = false;

  /** `lost` is called when the kernel has stopped; `changed` is called whenever the number of unanswered requests changes. */
  constructor(
    private readonly model: Model,
    private readonly changed: () => void = () => {},
    private readonly lost: () => void = () => {},
  ) {
    model.on("msg:custom", this.#receive);
    for (const event of GONE) model.on(event, this.#leave);
  }

  /** Whether the kernel has stopped. */
  get gone(): boolean {
    return this.#gone;
  }

  /** Whether a verb is answered: a saved page answers some verbs, a stopped kernel none. */
  answers(verb: keyof Verbs): boolean {
    return !this.#gone && (this.model.get("answers")?.includes(verb) ?? true);
  }

  /** Asks Python for `verb`; rejects with Refused. */
  call<V extends keyof Verbs>(verb: V, args: Verbs[V]): Promise<Result<V>> {
    const id = this.#next++;
    if (this.#gone) return Promise.reject(new Refused({ request: verb, ...NOBODY }));
    return new Promise((done, failed) => {
      this.#waiting.set(id, { done, failed, verb });
      this.model.send({ v: VERSION, id, verb, args });
      this.changed();
    });
  }

  /** Sends a verb without waiting for its answer: the page shows the result. */
  tell<V extends keyof Verbs>(verb: V, args: Verbs[V]): void {
    this.model.send({ v: VERSION, id: this.#next++, verb, args });
  }

  /** Unanswered requests, of one verb or of all. */
  pending(verb?: keyof Verbs): number {
    if (!verb) return this.#waiting.size;
    return [...this.#waiting.values()].filter(w => w.verb === verb).length;
  }

  close(): void {
    this.model.off("msg:custom", this.#receive);
    for (const event of GONE) this.model.off(event, this.#leave);
    this.#waiting.clear();
  }

  /** The kernel stopped or restarted: all open requests end with an error. */
  #leave = (): void => {
    this.#gone = true;
    for (const { failed, verb } of this.#waiting.values()) failed(new Refused({ request: verb, ...NOBODY }));
    this.#waiting.clear();
    this.changed();
    this.lost();
  };

  #receive = (message: any): void => {
    if (!message || message.v !== VERSION) return;
    const waiting = this.#waiting.get(message.id);
    if (!waiting) return;
    this.#waiting.delete(message.id);
    this.changed();
    if (message.ok)
      waiting.done(message.result ?? undefined); // null is for refused verbs: `Actions.send`
    else waiting.failed(new Refused(message.error));
  };
}
