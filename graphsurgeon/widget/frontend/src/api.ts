// Sends verbs to Python and matches the answers to them.
import type { ErrorParts, Model, Result, Verbs } from "./types";

export const VERSION = 1;

/** A verb that Python refused; the message has all three parts. */
export class Refused extends Error {
  constructor(readonly parts: ErrorParts) {
    super(`${parts.asked}: ${sentence(parts.wrong)} ${sentence(parts.instead)}`);
  }
}

function sentence(text: string): string {
  return /[.?!]$/.test(text.trim()) ? text.trim() : text.trim() + ".";
}

interface Waiting { done(result: any): void; failed(error: Refused): void; verb: string }

export class Api {
  private waiting = new Map<number, Waiting>();
  // answers reach every view of a model: two views must not use the same numbers
  private next = Math.floor(Math.random() * 2 ** 30) * 2 ** 20 + 1;

  /** `changed` is called whenever the number of unanswered requests changes. */
  constructor(private model: Model, private changed: () => void = () => {}) {
    model.on("msg:custom", this.receive);
  }

  /** Asks Python for `verb`; rejects with Refused. */
  call<V extends keyof Verbs>(verb: V, args: Verbs[V]): Promise<Result<V>> {
    const id = this.next++;
    return new Promise((done, failed) => {
      this.waiting.set(id, { done, failed, verb });
      this.model.send({ v: VERSION, id, verb, args });
      this.changed();
    });
  }

  /** Unanswered requests, of one verb or of all. */
  pending(verb?: keyof Verbs): number {
    if (!verb) return this.waiting.size;
    return [...this.waiting.values()].filter(w => w.verb === verb).length;
  }

  close(): void {
    this.model.off("msg:custom", this.receive);
    this.waiting.clear();
  }

  private receive = (message: any): void => {
    if (!message || message.v !== VERSION) return;
    const waiting = this.waiting.get(message.id);
    if (!waiting) return;
    this.waiting.delete(message.id);
    this.changed();
    if (message.ok) waiting.done(message.result);
    else waiting.failed(new Refused(message.error));
  };
}
