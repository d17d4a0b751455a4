// Navigation: to producers and consumers, back and forward, to saved views.
import type { Actions } from "./actions";
import type { Pane } from "../canvas/pane";
import { figure } from "../panels/dom";
import { opOf } from "../state/places";
import type { Choice } from "../panels/popup";
import type { Position } from "../panels/parts";

const MOST = 40;

/** Goes to a producer or a consumer of a box, even if it is folded. */
export async function along(actions: Actions, pane: Pane, way: "producer" | "consumer"): Promise<void> {
  const of = pane.current?.of;
  if (!of) return actions.notify("Select an op first.");
  const details = await actions.send("details", { pane: pane.name, name: of.name });
  if (!details) return;
  const own = of.name.replace(/\/$/, "");
  const found = way === "producer" ? [...details.inputs.map(t => opOf(t.tensor)), ...details.control_inputs] : details.consumers;
  const names = [...new Set(found)].filter(name => name !== own),
    go = (name: string) => actions.reveal(pane.name, name);
  const total = (way === "consumer" && details.totals.consumers) || names.length;
  if (!names.length) actions.notify(`'${own.slice(0, 80)}' has no ${way}.`);
  else if (names.length === 1) go(names[0]!);
  else
    actions.popup.choose(
      `Go to which ${way}?${total > MOST ? ` The first ${MOST} of ${figure(total)}` : ""}`,
      names.slice(0, MOST).map(name => ({ text: name, run: () => go(name) })),
      below(pane),
    );
}

/** Shows a saved view in the source pane. */
export async function showView(actions: Actions, name: string): Promise<void> {
  const at = await actions.send("show_view", { name });
  if (Array.isArray(at)) actions.panes.source.lookFrom(at as number[]);
}

/** Shows the view of a digit key. */
export function showViewNumber(actions: Actions, i: number): void {
  const name = actions.model.get("views")?.saved[i - 1];
  if (name === undefined) actions.notify(`There is no view ${i}. Press v to save one.`);
  else void showView(actions, name);
}

/** The menu of the signatures and functions of the file. */
export function chooseSignature(actions: Actions, at: Position): void {
  const { model, popup, item } = actions,
    { signatures, signature } = model.get("views")!;
  popup.choose(
    "Signatures and functions of the file",
    signatures.map(name => item(name, "show_signature", { name }, { on: name === signature })),
    at,
  );
}

/** The menu of views. */
export function openViews(actions: Actions, at?: Position): void {
  const saved = actions.model.get("views")?.saved ?? [],
    pane = actions.panes.source;
  const choices: Choice[] = saved
    .slice(0, MOST)
    .map((name, i) => ({ text: name, key: i < 9 ? String(i + 1) : undefined, verb: "show_view", run: () => void showView(actions, name) }));
  choices.push({
    text: "Save this view\u2026",
    verb: "save_view",
    run: () =>
      actions.form(
        "Save this view",
        "save_view",
        "Save",
        { at: [pane.view.x, pane.view.y, pane.view.k] },
        { name: `view ${saved.length + 1}` },
      ),
  });
  if (saved.length)
    choices.push({
      text: "Delete a view\u2026",
      verb: "delete_view",
      run: () =>
        actions.popup.choose(
          "Delete which view?",
          saved.map(name => actions.item(name, "delete_view", { name })),
          at,
        ),
    });
  actions.popup.choose("Views", choices, at ?? below(pane));
}

/** The position of a menu of the selected edge, or of the current box. */
export function below(pane: Pane): Position | undefined {
  const { edge } = pane.drawing,
    r = (edge.isConnected ? edge : pane.current?.g)?.getBoundingClientRect();
  return r && { x: r.left + 12, y: r.bottom };
}

/** The position of a menu that does not cover the picture. */
export function corner({ canvas }: Pane): Position {
  const r = canvas.getBoundingClientRect();
  return { x: r.left + 8, y: r.top + 8 };
}
