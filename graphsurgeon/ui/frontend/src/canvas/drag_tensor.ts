// A tensor that is dragged to its new consumer; by keys: m, then m. The possible consumers are requested once, at the start.
import type { Actions } from "../commands/actions";
import { Refused } from "../model/api";
import { counted } from "../panels/dom";
import type { Edits } from "../commands/edits";
import { centre, gives, kindsOf, opOf } from "../state/places";
import type { Pane } from "./pane";
import type { Drag } from "./pointer";
import type { Choice } from "../panels/popup";
import type { Item } from "./scene";
import type { Box, Edge, Group, InputCandidate, InputCandidates } from "../model/types";

type At = { x: number; y: number };

const OFFERED = 12,
  ADAPTED = 4,
  FIXABLE = ". Drop to list adapters";

export class Wires {
  /** The suggestion of an error. */
  #refused = "";

  constructor(
    private readonly acts: Actions,
    private readonly edits: Edits,
  ) {}

  /** The first m chooses the tensor, the second m the box that should read it. On the same box, it lists all possible consumers. */
  async connect(pane: Pane): Promise<void> {
    const { store, panes } = this.acts.p,
      { armed } = store.now,
      item = pane.current;
    if (armed?.verb !== "connect") {
      this.acts.arm(pane, "connect");
      const now = store.now.armed;
      if (now?.verb === "connect" && !(await this.offer(pane, now.tensor)) && store.now.armed === now) this.#give();
    } else if (item && (store.now.takers ?? (await this.offer(panes[armed.pane], armed.tensor)))) {
      const r = item.g.getBoundingClientRect(),
        at = { x: r.left + 12, y: r.bottom };
      if (item.of.name === armed.box && pane.name === armed.pane) this.choose(pane, at, centre(item.of));
      else this.take(pane, item, at);
    }
  }

  /** Requests the possible consumers of a tensor, and highlights them after the answer. */
  async offer(pane: Pane, tensor: string): Promise<InputCandidates | null> {
    const { store, status, api } = this.acts.p;
    this.#refused = "";
    const answer = await api.call("input_candidates", { tensor, pane: pane.name }).catch((error: Error) => {
      // the message without its request, which the user did not type
      status.say(error instanceof Refused ? error.said : error.message, "error");
      this.#refused = error instanceof Refused ? error.parts.suggestion : error.message;
    });
    if (store.now.armed?.tensor !== tensor || !answer) return null;
    store.set({ takers: answer });
    const fits = new Set(
      Object.values(answer.boxes)
        .flat()
        .filter(t => !t.reason)
        .map(t => `${t.op} ${t.input}`),
    );
    status.say(
      `${answer.tensor}  ${answer.text}: ${counted(fits.size, "inputs")} in the picture fit. Go to one and press m, or drop it there; Esc cancels.`,
    );
    return answer;
  }

  /** Requests the consumers again if the picture has changed. */
  again(): void {
    const { armed, takers } = this.acts.p.store.now;
    if (armed?.verb === "connect" && takers) {
      this.acts.p.store.set({ takers: null });
      void this.offer(this.acts.p.panes[armed.pane], armed.tensor);
    }
  }

  /** Begins a drag at an output of a box, or at an edge; null if there is no tensor. */
  begin(pane: Pane, start: { box: Box; port: number } | Edge, e: PointerEvent): Drag | null {
    const { status, over } = this.acts.p;
    if ("tensors" in start && (start.count !== 1 || start.control)) {
      status.say(
        start.control ? "A control edge has no tensor." : `This edge combines ${start.count} tensors: unfold one of its ends first.`,
        "warn",
      );
      return null;
    }
    const name = "tensors" in start ? start.tensors[0]! : tensorAt(start.box, start.port),
      box = "tensors" in start ? opOf(name) : start.box.name,
      answer = this.#arm(pane, name, box),
      from: [number, number] = "tensors" in start ? [e.clientX, e.clientY] : pane.portOnScreen(start.box, start.port);
    let dropped = false,
      ended = false,
      last = e;
    const move = (now: PointerEvent): void => {
      last = now;
      const { taker, item, pane: there } = this.#under(now);
      const words = this.#words(there, item, taker);
      over.wire(from, now, words[1], pane.scene?.direction !== "LR");
      over.say(words[0], now, words[1]);
      for (const p of Object.values(this.acts.p.panes)) p.drawing.aim(p === there ? (item ?? null) : null);
    };
    void answer.then(() => ended || move(last));
    return {
      move,
      drop: now => {
        dropped = true;
        const at = { x: now.clientX, y: now.clientY },
          { taker, item, pane: there } = this.#under(now);
        over.clear();
        void answer.then(takers => {
          if (!takers || !there) this.#give();
          else if (taker) this.#join(takers, taker, at);
          else if (item && "kind" in item.of) this.take(there, item, at);
          else if (item) this.#give();
          else this.choose(there, at, there.toScene(now.clientX, now.clientY));
        });
      },
      end: () => {
        ended = true;
        for (const p of Object.values(this.acts.p.panes)) p.drawing.aim(null);
        over.clear();
        if (!dropped) this.#give();
      },
    };
  }

  #arm(pane: Pane, tensor: string, box: string): Promise<InputCandidates | null> {
    this.acts.p.store.set({ armed: { verb: "connect", tensor, pane: pane.name, box }, takers: null });
    return this.offer(pane, tensor);
  }

  /** The item under the pointer, in any pane. */
  #under(e: PointerEvent): { pane: Pane | undefined; item: Item | undefined; taker: InputCandidate | undefined } {
    const pane = Object.values(this.acts.p.panes).find(p => p.holds(e)),
      target = pane?.under(e),
      taker = pane && target ? pane.drawing.takerAt(target) : null;
    const found = pane && target ? pane.drawing.at(target) : null;
    const item = taker && pane ? pane.drawing.named(taker.box)! : found && "g" in found ? found : undefined;
    return { pane, item, taker: taker?.taker };
  }

  /** The known inputs of a box, if it is in the pane with the possible consumers. */
  inputs(pane: Pane, name: string): InputCandidate[] | null {
    const { takers } = this.acts.p.store.now;
    if (!takers || (takers.pane !== pane.name && this.acts.p.model.get("plan").same === false)) return null;
    return takers.boxes[name] ?? [];
  }

  /** The effect of a drop here in words, and whether it has one. */
  #words(pane?: Pane, item?: Item, taker?: InputCandidate): [string, boolean] {
    if (!pane) return ["", false];
    if (this.#refused) return [this.#refused, false];
    if (!item) return ["drop to list possible consumers", true];
    const inputs = this.inputs(pane, item.of.name);
    if (!inputs) return [this.acts.p.store.now.takers ? `connect in ${this.acts.p.model.get("titles").destination}` : "\u2026", false];
    const one = taker ?? (inputs.length === 1 ? inputs[0] : undefined);
    const copied = this.#copied(this.acts.p.store.now.takers);
    if (one)
      return [`input ${one.input} of ${one.op}${one.reason ? `: ${one.reason}` : copied}${one.adaptable ? FIXABLE : ""}`, !one.reason];
    if (!inputs.length)
      return this.#replaced(item.of) ? [`replace ${item.of.label}${copied}`, true] : [`${item.of.label} has no inputs`, false];
    const fit = inputs.filter(t => !t.reason);
    return fit.length
      ? [(fit.length === 1 ? `input ${fit[0]!.input} of ${fit[0]!.op}` : `${fit.length} of its inputs`) + copied, true]
      : [`input ${inputs[0]!.input} ${inputs[0]!.reason}${inputs[0]!.adaptable ? FIXABLE : ""}`, false];
  }

  /** Connects the tensor to a box: at once if the box has one input, or none that fits; else a menu lists its inputs. */
  take(pane: Pane, item: Item, at?: { x: number; y: number }): void {
    const { takers } = this.acts.p.store.now,
      inputs = this.inputs(pane, item.of.name),
      { status, popup } = this.acts.p;
    if (!takers) return;
    if (!inputs) return status.say(`Connect it in ${this.acts.p.model.get("titles").destination}, on the right.`, "warn");
    if (!inputs.length && this.#replaced(item.of)) return this.#replace(takers, item.of.name, at);
    if (!inputs.length) return status.say(`'${item.of.name.slice(0, 80)}' has no inputs: choose another op.`, "warn");
    const adaptables = inputs.filter(t => t.adaptable),
      none = inputs.every(t => t.reason);
    if (inputs.length === 1 || (none && !adaptables.length)) return this.#join(takers, inputs[0]!, at);
    if (none) {
      this.#give();
      return void this.#adapt(takers, adaptables.slice(0, ADAPTED), at);
    }
    popup.choose(
      `Which input should read ${takers.tensor}?`,
      inputs.map(t => this.#choice(takers, t, at)),
      at,
      this.#give,
    );
  }

  /** Lists all possible consumers in the picture, the nearest first, and other edits of the tensor. */
  choose(pane: Pane, at?: { x: number; y: number }, near: [number, number] = [0, 0]): void {
    const { takers } = this.acts.p.store.now;
    if (!takers) return;
    const far = (name: string) => {
      const of = pane.drawing.named(name)?.of;
      return of ? Math.hypot(centre(of)[0] - near[0], centre(of)[1] - near[1]) : Infinity;
    };
    const fits = Object.keys(takers.boxes)
      .sort((a, b) => far(a) - far(b))
      .flatMap(name => takers.boxes[name]!)
      .filter(t => !t.reason);
    const { tensor } = takers,
      { popup } = this.acts.p;
    const more: Choice[] = [{ text: "Insert op after it\u2026", off: takers.copies > 0, run: () => this.edits.insert(tensor) }];
    const rest = fits.length > OFFERED ? `, the nearest ${OFFERED} of ${fits.length}` : "";
    popup.choose(
      `Possible consumers of ${tensor}${rest}`,
      [...fits.slice(0, OFFERED).map(t => this.#choice(takers, t)), ...more],
      at,
      this.#give,
    );
  }

  #choice(takers: InputCandidates, t: InputCandidate, at?: At): Choice {
    const what = `input ${t.input} of ${t.op}${t.reason ? "" : `  reads ${t.current_input}`}`;
    return { text: what, why: t.reason, off: !!t.reason && !t.adaptable, run: () => this.#join(takers, t, at) };
  }

  #join(takers: InputCandidates, t: InputCandidate, at?: At): void {
    const { tensor } = takers,
      place = { tensor, to: t.op, input: t.input };
    this.#give();
    if (t.adaptable) void this.#adapt(takers, [t], at);
    else if (t.reason) this.acts.p.status.say(`${no(takers, t)}.`, "warn");
    else
      this.#sure(takers, `Connect ${tensor} to input ${t.input} of ${t.op}`, "connect", at, () =>
        takers.copies ? this.acts.ask("copy_and_connect", { ...place, by: [] }) : this.acts.ask("connect", place),
      );
  }

  /** Whether the tensor can replace the output of a box without inputs. */
  #replaced(of: Box | Group): boolean {
    const { takers } = this.acts.p.store.now;
    return gives(of) && !!takers && (takers.copies > 0 || opOf(takers.tensor) !== of.name);
  }

  /** Makes the consumers of an op without inputs read the tensor. */
  #replace(takers: InputCandidates, op: string, at?: At): void {
    const { tensor } = takers;
    this.#give();
    this.#sure(takers, `Replace ${op}:0 by ${tensor}`, "use the copy", at, () =>
      takers.copies
        ? this.acts.ask("copy_and_connect", { tensor, to: op, input: 0, by: [] })
        : this.acts.ask("reroute", { old: `${op}:0`, to: tensor, only: [] }),
    );
  }

  /** Does an edit at once; if it copies ops of the other graph, the user must confirm it first. */
  #sure(takers: InputCandidates, title: string, then: string, at: At | undefined, run: () => void): void {
    if (!takers.copies) return run();
    this.acts.p.popup.choose(title, [{ text: `Copy ${this.#makers(takers)}, and ${then}`, run }], at);
  }

  #makers(takers: InputCandidates): string {
    return takers.copies === 1 ? "its producer" : `the ${counted(takers.copies, "ops")} that compute it`;
  }

  /** The text about copied ops, at the end of the words for a connection. */
  #copied(takers: InputCandidates | null): string {
    return takers?.copies ? `: copies ${this.#makers(takers)}` : "";
  }

  /** Offers adapters that make the tensor fit some inputs, the best first. */
  async #adapt(takers: InputCandidates, inputs: InputCandidate[], at?: At): Promise<void> {
    const { tensor } = takers,
      { status, popup } = this.acts.p,
      places = inputs.map(t => ({ tensor, to: t.op, input: t.input })),
      pane = takers.copies ? ("source" as const) : ("destination" as const),
      found = await Promise.all(places.map(place => this.acts.send("adapters", { ...place, pane })));
    const choices = found.flatMap((all, i) =>
      (all ?? []).map(a => ({
        text: `${kindsOf(a)}  ${a.text}`,
        group: `To input ${inputs[i]!.input} of ${inputs[i]!.op}${this.#copied(takers)}`,
        run: () => this.acts.ask(takers.copies ? "copy_and_connect" : "adapt", { ...places[i]!, by: a.kinds }),
      })),
    );
    if (!choices.length) return status.say(`${no(takers, inputs[0]!)}, and no adapter fits.`, "warn");
    status.say(`${no(takers, inputs[0]!)}. Choose an adapter:`);
    popup.choose(inputs.length > 1 ? `Adapt ${tensor}` : `Adapt ${tensor} to input ${inputs[0]!.input} of ${inputs[0]!.op}`, choices, at);
  }

  #give = (): void => this.acts.p.store.set({ armed: null, takers: null });
}

/** Why an input cannot read a tensor. */
function no(takers: InputCandidates, t: InputCandidate): string {
  return `Input ${t.input} of ${t.op} cannot read ${takers.tensor}: ${t.reason}`;
}

/** The tensor of an output of a box. For a fold it is the name of the fold, which means its only output. */
function tensorAt(box: Box, port: number): string {
  return box.name.endsWith("/") || box.name.startsWith("~") ? box.name : `${box.name}:${port}`;
}
