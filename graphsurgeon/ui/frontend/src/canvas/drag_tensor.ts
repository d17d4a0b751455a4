// A tensor that is dragged to its new consumer; by keys: m, then m. The possible consumers are requested once, at the start.
import type { Actions } from "../commands/actions";
import { CommandError } from "../model/api";
import { countOf } from "../panels/dom";
import { below } from "../commands/navigation";
import { askInsert } from "../commands/edits";
import { capital, centre, gives, isFoldName, opOf, type Point } from "../state/places";
import type { Pane } from "./pane";
import type { Drag } from "./pointer";
import type { Choice } from "../panels/popup";
import type { Position } from "../panels/parts";
import type { Item, Port } from "./scene";
import type { Box, Edge, Group, InputCandidate, InputCandidates } from "../model/types.generated";

const OFFERED = 12,
  ADAPTED = 4,
  FIXABLE = ". Drop to list adapters",
  /** Only the input itself is checked during the drag: the plan, which is checked after the drop, may find faults further on. */
  FITS = " fits. After the drop, the plan is checked";

/** The first m chooses the tensor, the second m the box that should read it. On the same box, it lists all possible consumers. */
export async function connect(actions: Actions, pane: Pane): Promise<void> {
  const { panes } = actions,
    { connecting } = actions.state,
    item = pane.current;
  if (!connecting) {
    const tensor = actions.tensor(pane, true),
      box = actions.startBox(pane);
    if (!tensor || box === undefined) return;
    const now = { tensor, pane: pane.name, box };
    actions.store.set({ connecting: now, picking: null, edge: null });
    actions.notify(`${tensor.slice(0, 80)}: go to the box that should read it and press m again; Esc cancels.`);
    if (!(await offer(actions, pane, tensor)) && actions.state.connecting === now) actions.cancelConnection();
  } else if (item && (connecting.candidates ?? (await offer(actions, panes[connecting.pane], connecting.tensor)))) {
    const at = below(pane);
    if (item.of.name === connecting.box && pane.name === connecting.pane) chooseConsumer(actions, pane, at, centre(item.of));
    else dropOn(actions, pane, item)[2](at);
  }
}

/** Requests the possible consumers of a tensor, and highlights them after the answer; `refused` gets the suggestion of an error. */
async function offer(
  actions: Actions,
  pane: Pane,
  tensor: string,
  refused: (suggestion: string) => void = () => {},
): Promise<InputCandidates | null> {
  const { store, notify, api } = actions;
  const answer = await api.call("input_candidates", { tensor, pane: pane.name }).catch((error: Error) => {
    // the message without its request, which the user did not type
    notify(error instanceof CommandError ? error.explanation : error.message, "error");
    refused(error instanceof CommandError ? error.parts.suggestion : error.message);
  });
  const { connecting } = actions.state;
  if (connecting?.tensor !== tensor || !answer) return null;
  store.set({ connecting: { ...connecting, candidates: answer } });
  const fits = new Set(
    Object.values(answer.boxes)
      .flat()
      .filter(t => !t.reason)
      .map(t => `${t.op} ${t.input}`),
  );
  notify(
    `${answer.tensor}  ${answer.text}: ${countOf(fits.size, "inputs")} in the picture fit. Go to one and press m, or drop it there; Esc cancels.`,
  );
  return answer;
}

/** Requests the consumers again if the picture has changed. */
export function refreshCandidates(actions: Actions): void {
  const { connecting } = actions.state;
  if (connecting?.candidates) {
    actions.store.set({ connecting: { ...connecting, candidates: undefined } });
    void offer(actions, actions.panes[connecting.pane], connecting.tensor);
  }
}

/** Begins a drag at an output of a box, or at an edge; null if there is no tensor. */
export function dragTensor(actions: Actions, pane: Pane, start: Port | Edge, e: PointerEvent): Drag | null {
  const { notify, overlay } = actions;
  if ("tensor" in start && (start.count !== 1 || start.control)) {
    notify(
      start.control ? "A control edge has no tensor." : `This edge combines ${start.count} tensors: unfold one of its ends first.`,
      "warn",
    );
    return null;
  }
  const tensor = "tensor" in start ? start.tensor : tensorAt(start.box, start.port),
    box = "tensor" in start ? opOf(tensor) : start.box.name,
    from: Position = "tensor" in start ? e : pane.portOnScreen(start.box, start.port);
  let isDropped = false,
    isOver = false,
    suggestion = "",
    last = e;
  actions.store.set({ connecting: { tensor, pane: pane.name, box } });
  const answer = offer(actions, pane, tensor, text => (suggestion = text));
  const move = (now: PointerEvent): void => {
    last = now;
    const { candidate, item, pane: there } = under(actions, now);
    const [text, good] = !there
      ? ["", false]
      : suggestion
        ? [suggestion, false]
        : item
          ? dropOn(actions, there, item, candidate)
          : ["drop to list possible consumers", true];
    overlay.wire(from, now, good, pane.scene?.direction !== "LR");
    overlay.showTip(text, now, good);
    for (const p of Object.values(actions.panes)) p.drawing.aim(p === there ? (item ?? null) : null);
  };
  void answer.then(() => isOver || move(last));
  return {
    move,
    drop: now => {
      isDropped = true;
      const { candidate, item, pane: there } = under(actions, now);
      overlay.clear();
      void answer.then(candidates => {
        if (!candidates || !there || (item && !("kind" in item.of))) actions.cancelConnection();
        else if (item) dropOn(actions, there, item, candidate)[2](now);
        else chooseConsumer(actions, there, now, there.toScene(now));
      });
    },
    end: () => {
      isOver = true;
      for (const p of Object.values(actions.panes)) p.drawing.aim(null);
      overlay.clear();
      if (!isDropped) actions.cancelConnection();
    },
  };
}

/** The item under the pointer, in any pane. */
function under(
  actions: Actions,
  e: PointerEvent,
): { pane: Pane | undefined; item: Item | undefined; candidate: InputCandidate | undefined } {
  const pane = Object.values(actions.panes).find(p => p.contains(e)),
    target = pane?.elementAt(e) ?? null,
    candidate = pane?.drawing.portAt(target);
  const found = candidate ? pane!.drawing.find(candidate.box.name) : pane?.drawing.itemAt(target);
  return { pane, item: found && "g" in found ? found : undefined, candidate: candidate?.candidate };
}

/** The known inputs of a box, if it is in the pane with the possible consumers. */
function inputsOf(actions: Actions, pane: Pane, name: string): InputCandidate[] | null {
  const candidates = actions.state.connecting?.candidates;
  if (!candidates || (candidates.pane !== pane.name && !actions.isSingleGraph)) return null;
  return candidates.boxes[name] ?? [];
}

/** The effect of a drop on an item: in words, whether it connects, and its function. A box with one input is connected at once; for
 * several inputs a menu lists them. */
function dropOn(
  actions: Actions,
  pane: Pane,
  { of }: Item,
  candidate?: InputCandidate,
): [text: string, good: boolean, drop: (at?: Position) => void] {
  const { state, notify, popup, model } = actions,
    candidates = state.connecting?.candidates,
    { destination } = model.get("titles"),
    inputs = inputsOf(actions, pane, of.name);
  if (!candidates) return ["\u2026", false, () => {}];
  if (!inputs) return [`connect in ${destination}`, false, () => notify(`Connect it in ${destination}, on the right.`, "warn")];
  const [first] = inputs,
    one = candidate ?? (inputs.length === 1 ? first : undefined),
    copied = copyText(candidates),
    fixable = (t: InputCandidate) => (t.adaptable ? FIXABLE : ""),
    fits = (t: InputCandidate) => `input ${t.input} of ${t.op}${t.reason ? `: ${t.reason}` : copied || FITS}`;
  if (one) return [fits(one) + fixable(one), !one.reason, at => join(actions, candidates, one, at)];
  if (!first && isReplaced(actions, of))
    return [`replace ${of.label}${copied}`, true, at => replaceOutput(actions, candidates, of.name, at)];
  if (!first) {
    const none = `'${of.name.slice(0, 80)}' has no inputs: choose another op.`;
    return [`${of.label} has no inputs`, false, () => notify(none, "warn")];
  }
  const fit = inputs.filter(t => !t.reason),
    choices = (at?: Position) => inputs.map(t => candidateChoice(actions, candidates, t, at)),
    title = `Which input should read ${candidates.tensor}?`;
  if (fit.length) {
    const text = fit.length === 1 ? fits(fit[0]!) : `${fit.length} of its inputs fit${copied}`;
    return [text, true, at => popup.choose(title, choices(at), at, actions.cancelConnection)];
  }
  const adaptables = inputs.filter(t => t.adaptable).slice(0, ADAPTED);
  return [
    `input ${first.input} ${first.reason}${fixable(first)}`,
    false,
    at => {
      if (!adaptables.length) return join(actions, candidates, first, at);
      actions.cancelConnection();
      void adapt(actions, candidates, adaptables, at);
    },
  ];
}

/** Lists all possible consumers in the picture, the nearest first, and other edits of the tensor. */
function chooseConsumer(actions: Actions, pane: Pane, at?: Position, near: Point = [0, 0]): void {
  const candidates = actions.state.connecting?.candidates;
  if (!candidates) return;
  const far = (name: string) => {
    const of = pane.drawing.find(name)?.of;
    return of ? Math.hypot(centre(of)[0] - near[0], centre(of)[1] - near[1]) : Infinity;
  };
  const fits = Object.keys(candidates.boxes)
    .sort((a, b) => far(a) - far(b))
    .flatMap(name => candidates.boxes[name]!)
    .filter(t => !t.reason);
  const { tensor } = candidates,
    { popup } = actions;
  const more: Choice[] = [{ text: "Insert op after it\u2026", off: candidates.copies > 0, run: () => askInsert(actions, tensor) }];
  const rest = fits.length > OFFERED ? `, the nearest ${OFFERED} of ${fits.length}` : "";
  popup.choose(
    `Possible consumers of ${tensor}${rest}`,
    [...fits.slice(0, OFFERED).map(t => candidateChoice(actions, candidates, t)), ...more],
    at,
    actions.cancelConnection,
  );
}

function candidateChoice(actions: Actions, candidates: InputCandidates, t: InputCandidate, at?: Position): Choice {
  const what = `input ${t.input} of ${t.op}${t.reason ? "" : `  reads ${t.current_input}`}`;
  return { text: what, why: t.reason, off: !!t.reason && !t.adaptable, run: () => join(actions, candidates, t, at) };
}

function join(actions: Actions, candidates: InputCandidates, t: InputCandidate, at?: Position): void {
  const { tensor } = candidates,
    place = { tensor, to: t.op, input: t.input };
  actions.cancelConnection();
  if (t.adaptable) void adapt(actions, candidates, [t], at);
  else if (t.reason) actions.notify(`${no(candidates, t)}.`, "warn");
  else
    confirm(actions, candidates, `Connect ${tensor} to input ${t.input} of ${t.op}`, "connect", at, () =>
      candidates.copies ? actions.post("copy_and_connect", { ...place, kinds: [] }) : actions.post("connect", place),
    );
}

/** Whether the tensor can replace the output of a box without inputs. */
function isReplaced(actions: Actions, of: Box | Group): boolean {
  const candidates = actions.state.connecting?.candidates;
  return gives(of) && !!candidates && (candidates.copies > 0 || opOf(candidates.tensor) !== of.name);
}

/** Makes the consumers of an op without inputs read the tensor. */
function replaceOutput(actions: Actions, candidates: InputCandidates, op: string, at?: Position): void {
  const { tensor } = candidates;
  actions.cancelConnection();
  confirm(actions, candidates, `Replace ${op}:0 by ${tensor}`, "use the copy", at, () =>
    candidates.copies
      ? actions.post("copy_and_connect", { tensor, to: op, input: 0, kinds: [] })
      : actions.post("reroute", { old: `${op}:0`, to: tensor, only: [] }),
  );
}

/** Does an edit at once; if it copies ops of the other graph, the user must confirm it first. */
function confirm(
  actions: Actions,
  candidates: InputCandidates,
  title: string,
  then: string,
  at: Position | undefined,
  run: () => void,
): void {
  if (!candidates.copies) return run();
  actions.popup.choose(title, [{ text: `Copy ${makers(candidates)}, and ${then}`, run }], at);
}

function makers(candidates: InputCandidates): string {
  return candidates.copies === 1 ? "its producer" : `the ${countOf(candidates.copies, "ops")} that compute it`;
}

/** The text about copied ops, at the end of the words for a connection. */
function copyText(candidates: InputCandidates | null): string {
  return candidates?.copies ? `: copies ${makers(candidates)}` : "";
}

/** Offers adapters that make the tensor fit some inputs, the best first. */
async function adapt(actions: Actions, candidates: InputCandidates, inputs: InputCandidate[], at?: Position): Promise<void> {
  const { tensor } = candidates,
    { notify, popup } = actions,
    places = inputs.map(t => ({ tensor, to: t.op, input: t.input })),
    pane = candidates.copies ? ("source" as const) : ("destination" as const),
    found = await Promise.all(places.map(place => actions.send("adapters", { ...place, pane })));
  const choices = found.flatMap((all, i) =>
    (all ?? []).map(a => ({
      text: capital(a.text),
      group: `To input ${inputs[i]!.input} of ${inputs[i]!.op}${copyText(candidates)}`,
      run: () => actions.post(candidates.copies ? "copy_and_connect" : "adapt", { ...places[i]!, kinds: a.kinds }),
    })),
  );
  if (!choices.length) return notify(`${no(candidates, inputs[0]!)}, and no adapter fits.`, "warn");
  notify(`${no(candidates, inputs[0]!)}. Choose an adapter:`);
  popup.choose(inputs.length > 1 ? `Adapt ${tensor}` : `Adapt ${tensor} to input ${inputs[0]!.input} of ${inputs[0]!.op}`, choices, at);
}

/** Why an input cannot read a tensor. */
function no(candidates: InputCandidates, t: InputCandidate): string {
  return `Input ${t.input} of ${t.op} cannot read ${candidates.tensor}: ${t.reason}`;
}

/** The tensor of an output of a box. For a fold it is the name of the fold, which means its only output. */
function tensorAt(box: Box, port: number): string {
  return isFoldName(box.name) ? box.name : `${box.name}:${port}`;
}
