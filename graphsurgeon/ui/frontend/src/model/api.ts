// Sends verbs to Python and matches the answers to them.
import type { ErrorParts, Results, State, Verbs } from "./types.generated";

export type Result<V extends keyof Verbs> = V extends keyof Results ? Results[V] : unknown;

/** Sends a verb without waiting for its answer. */
export type Post = <V extends keyof Verbs>(verb: V, args: Verbs[V]) => void;

export const VERSION = 1;

// events of the notebook's widget manager for a model without a kernel
const CLOSE_EVENTS = ["comm_live_update", "comm:close"];
const NO_KERNEL = {
  problem: "the kernel of this graph has stopped, so the picture no longer changes",
  suggestion: "Rerun the cell",
};

/** The message for the user. */
export const NO_KERNEL_TEXT = `${NO_KERNEL.problem[0]!.toUpperCase()}${NO_KERNEL.problem.slice(1)}. ${NO_KERNEL.suggestion}.`;

/** A verb that Python refused; the message has all three parts. */
export class CommandError extends Error {
  constructor(readonly parts: ErrorParts) {
    super(`${parts.request}: ${sentence(parts.problem)} ${sentence(parts.suggestion)}`);
  }

  /** The problem and the suggestion. */
  get explanation(): string {
    return `${sentence(this.parts.problem)} ${sentence(this.parts.suggestion)}`;
  }
}

function sentence(text: string): string {
  return /[.?!]$/.test(text.trim()) ? text.trim() : text.trim() + ".";
}

interface PendingRequest {
  resolve(result: any): void;
  reject(error: CommandError): void;
  verb: string;
}

export class Api {
  #waiting = new Map<number, PendingRequest>();
  // all views of a model receive all answers: two views must not use the same numbers
  #next = Math.floor(Math.random() * 2 ** 30) * 2 ** 20 + 1;

  /** Whether the kernel has stopped. */
  kernelStopped = false;

  constructor(
    private readonly model: Model,
    /** is called whenever the number of unanswered requests changes */ private readonly onChange: () => void = () => {},
    /** is called when the kernel has stopped */ private readonly onStop: () => void = () => {},
  ) {
    model.on("msg:custom", this.#receive);
    for (const event of CLOSE_EVENTS) model.on(event, this.#stop);
  }

  /** Whether a verb is answered: a saved page answers some verbs, a stopped kernel none. */
  answers(verb: keyof Verbs): boolean {
    return !this.kernelStopped && (this.model.get("answers")?.includes(verb) ?? true);
  }

  /** Asks Python for `verb`; rejects with Refused. */
  call<V extends keyof Verbs>(verb: V, args: Verbs[V]): Promise<Result<V>> {
    const id = this.#next++;
    if (this.kernelStopped) return Promise.reject(new CommandError({ request: verb, ...NO_KERNEL }));
    return new Promise((done, failed) => {
      this.#waiting.set(id, { resolve: done, reject: failed, verb });
      this.#send({ v: VERSION, id, verb, args });
      this.onChange();
    });
  }

  /** Sends a verb without waiting for its answer: the page shows the result. */
  tell<V extends keyof Verbs>(verb: V, args: Verbs[V]): void {
    this.#send({ v: VERSION, id: this.#next++, verb, args });
  }

  /** Sends a message; a kernel that was shut down has no event, but its connection refuses the message. */
  #send(content: object): void {
    try {
      if (!this.kernelStopped) this.model.send(content);
    } catch {
      this.#stop();
    }
  }

  /** Unanswered requests, of one verb or of all. */
  pending(verb?: keyof Verbs): number {
    if (!verb) return this.#waiting.size;
    return [...this.#waiting.values()].filter(w => w.verb === verb).length;
  }

  close(): void {
    this.model.off("msg:custom", this.#receive);
    for (const event of CLOSE_EVENTS) this.model.off(event, this.#stop);
    this.#waiting.clear();
  }

  /** The kernel stopped or restarted: all open requests end with an error. */
  #stop = (): void => {
    this.kernelStopped = true;
    for (const { reject: failed, verb } of this.#waiting.values()) failed(new CommandError({ request: verb, ...NO_KERNEL }));
    this.#waiting.clear();
    this.onChange();
    this.onStop();
  };

  #receive = (message: any): void => {
    if (!message || message.v !== VERSION) return;
    const waiting = this.#waiting.get(message.id);
    if (!waiting) return;
    this.#waiting.delete(message.id);
    this.onChange();
    if (message.ok)
      waiting.resolve(message.result ?? undefined); // null is for refused verbs: `Actions.send`
    else waiting.reject(new CommandError(message.error));
  };
}

/** The part of anywidget's model that the front end uses. */
export interface Model {
  get<K extends keyof State>(name: K): State[K];
  on(event: string, callback: (...args: any[]) => void): void;
  off(event: string, callback: (...args: any[]) => void): void;
  send(content: unknown): void;
  /** Inserts a code cell below the cell of the widget; undefined if a widget has no access to its notebook. */
  insertCell?: ((code: string) => void) | undefined;
}
