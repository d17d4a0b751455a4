// The banner over the picture: what to click, or the lens. The lens shows only neighbors of the selection, or only the region, or only
// the path from one box to another.
import type { Actions } from "../commands/actions";
import { button, valueOf } from "../panels/parts";
import { draw, h } from "../panels/vnodes";
import { reach } from "../state/neighbors";
import { corner } from "../commands/navigation";
import type { Pane } from "./pane";
import { opOf, placeOf } from "../state/places";
import type { LensOf } from "../state/store";

const ALL = 9;

/** Shows only neighbors of the selection, or of the box with the focus; a second call shows all again. */
export function toggleLens(actions: Actions, pane: Pane): void {
  const item = pane.current;
  if (actions.state.lens) actions.store.set({ lens: null });
  else if (item) open(actions, pane, { names: [item.of.name], near: 1, text: "" });
}

/** Shows only the region with its ports, or without a region only the selection. */
export function isolate(actions: Actions, pane: Pane): void {
  const { boxes, inputs, outputs, ops } = actions.model.get("boundary"),
    { scene } = pane,
    region = ops && pane.name === "source";
  const ports = region && scene ? [...inputs, ...outputs].flatMap(t => placeOf(scene, opOf(t.tensor))?.name ?? []) : [];
  const names = region ? [...Object.keys(boxes), ...ports] : [...actions.selected[pane.name]];
  if (actions.state.lens) actions.store.set({ lens: null });
  else if (!names.length) actions.notify("Mark a boundary, or select boxes first.", "warn");
  else open(actions, pane, { names, near: 0, text: region ? "Only the region" : "Only the selection" });
}

/** Selects all boxes between two selected boxes. */
export function selectBetween(actions: Actions, pane: Pane): void {
  const two = twoSelected(actions, pane);
  if (two && pane.name === "destination") actions.notify("Select them in the source, on the left.", "warn");
  else if (two) actions.post("select_between", { a: two[0], b: two[1] });
}

/** Shows the shortest path between two selected boxes; a step is highlighted while the pointer is on it. */
export async function showPath(actions: Actions, pane: Pane): Promise<void> {
  const two = twoSelected(actions, pane),
    path = two && (await actions.send("show_path", { a: two[0], b: two[1], pane: pane.name }));
  if (!path || !pane.scene) return;
  const at = (op: string) => (pane.scene && placeOf(pane.scene, op)?.name) ?? op;
  open(actions, pane, { names: path.steps.map(step => at(step.op)), near: 0, text: path.text });
  actions.popup.choose(
    path.text,
    path.steps.map(step => ({
      text: step.text,
      shows: () => pane.drawing.aim(pane.drawing.find(at(step.op)) ?? null),
      run: () => actions.reveal(pane.name, step.op),
    })),
    corner(pane),
    () => pane.drawing.aim(null),
  );
}

function twoSelected(actions: Actions, pane: Pane): [string, string] | null {
  const [a, b, more] = actions.selected[pane.name];
  if (a !== undefined && b !== undefined && more === undefined) return [a, b];
  actions.notify("Select two boxes first: click one, Shift+click the other.", "warn");
  return null;
}

function open(actions: Actions, pane: Pane, lens: Omit<LensOf, "pane">): void {
  actions.store.set({ lens: { ...lens, pane: pane.name } });
  pane.lookAt([...(lensNames(actions, pane) ?? [])]);
}

/** Names of the boxes that are shown in a pane; null if all are. */
export function lensNames(actions: Actions, pane: Pane): Set<string> | null {
  const { lens } = actions.state,
    { scene } = pane;
  if (!lens || lens.pane !== pane.name || !scene) return null;
  if (!lens.near) return new Set(lens.names);
  const selected = actions.selected[pane.name],
    names = new Set(selected.size ? selected : lens.names);
  const ids = scene.boxes.filter(box => names.has(box.name)).map(box => box.id),
    most = lens.near < ALL ? lens.near : Infinity;
  const shown = new Set([...reach(scene, ids, "up", most), ...reach(scene, ids, "down", most)]);
  return new Set(scene.boxes.filter(box => shown.has(box.id)).map(box => box.name));
}

/** Draws the banner into an element. */
export function drawBanner(element: HTMLElement, actions: Actions): void {
  const { lens, picking } = actions.state;
  if (picking)
    return draw(
      element,
      h(
        "div.gs-lens",
        { key: "pick" },
        h("span", `${picking.purpose}: ${picking.how}. Esc cancels.`),
        button({ icon: "close", label: "Cancel (Esc)", kind: "quiet", onclick: () => actions.escape(actions.pane) }),
      ),
    );
  const near = lens?.near ?? 0,
    steps = near < ALL ? `${near} ${near === 1 ? "step" : "steps"} away` : "everything upstream and downstream";
  draw(
    element,
    h(
      "div.gs-lens",
      { role: "group", "aria-label": "Focus", hidden: !lens },
      h("span.gs-word", near ? steps : lens?.text),
      h("input", {
        type: "range",
        min: 1,
        max: ALL,
        value: String(near),
        hidden: !near,
        "aria-label": "Number of steps",
        "aria-valuetext": steps,
        oninput: (e: Event) => actions.store.set({ lens: { ...lens!, near: +valueOf(e) } }),
      }),
      button({ icon: "close", label: "Show all again (Esc)", kind: "quiet", onclick: () => actions.store.set({ lens: null }) }),
    ),
  );
}
