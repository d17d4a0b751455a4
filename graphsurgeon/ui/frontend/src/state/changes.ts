// Steps through the changes of a plan.
import type { Actions } from "../commands/actions";
import type { LinkedPanes } from "./linked_panes";
import { countOf } from "../panels/dom";
import { button } from "../panels/parts";
import { draw, h } from "../panels/vnodes";
import { centre, contains } from "./places";
import type { Box, Group, Mark, PaneName, Scene } from "../model/types.generated";

const WORDS: Record<Exclude<Mark, "">, string> = {
  new: "is new",
  changed: "is changed",
  removed: "is removed",
  orphan: "is no longer used",
  conflict: "has an error",
  shape: "has another output shape",
};

/** One place that a plan changes. */
export interface Change {
  pane: PaneName;
  name: string;
  state: Exclude<Mark, "">;
}

/** The changed items of a picture. A frame with only new, or only removed, contents counts once. */
function changedItems(scene: Scene): (Box | Group)[] {
  const whole = scene.groups.filter(g => g.state === "new" || g.state === "removed"),
    all = [...whole, ...scene.boxes.filter(b => b.state && b.state !== "orphan")];
  const own = all.filter(of => !whole.some(g => g.name !== of.name && contains(g.name, of.name)));
  // a change of shape alone counts as a separate change only if there is no other
  const first = own.filter(of => of.state !== "shape");
  return first.length ? first : own;
}

/** The changed items of some pictures, along the flow. An item of several pictures counts once, in the first one. */
export function changes(shown: { pane: PaneName; scene: Scene }[]): Change[] {
  const names = new Set<string>();
  return shown
    .flatMap(({ pane, scene }) =>
      changedItems(scene).map(of => {
        const [x, y] = centre(of);
        return { pane, name: of.name, state: of.state as Change["state"], at: scene.direction === "LR" ? [x, y] : [y, x] };
      }),
    )
    .filter(({ name }) => !names.has(name) && names.add(name))
    .sort((a, b) => a.at[0]! - b.at[0]! || a.at[1]! - b.at[1]!)
    .map(({ pane, name, state }) => ({ pane, name, state }));
}

/** The changed items of all pictures: new ones first; and the number of the current one, or -1. */
function allChanges({ panes, state }: Actions): [all: Change[], at: number] {
  const { destination, source } = panes,
    all = changes([destination, source].flatMap(({ name: pane, scene }) => (scene ? [{ pane, scene }] : [])));
  return [all, all.findIndex(one => one.name === state.change?.name && one.pane === state.change.pane)];
}

/** Draws the number of changes, and the number of the current change, into an element. */
export function drawChanges(element: HTMLElement, actions: Actions, linked: LinkedPanes): void {
  const [all, at] = allChanges(actions),
    move = (by: 1 | -1, icon: "back" | "forward", label: string) =>
      button({ icon, label, kind: "quiet", onclick: () => stepChange(actions, linked, by, false) });
  draw(
    element,
    h(
      "div.gs-changes",
      { role: "group", "aria-label": "Changes", hidden: !all.length },
      move(-1, "back", "Previous change (Shift+Z)"),
      h("span.gs-muted.gs-change-at", at < 0 ? countOf(all.length, "changes") : `${at + 1} of ${all.length}`),
      move(1, "forward", "Next change (z)"),
    ),
  );
}

/** Goes to the next change, or with -1 to the previous one; `keyboard` moves the focus there. */
export function stepChange(actions: Actions, linked: LinkedPanes, by: 1 | -1, keyboard: boolean): void {
  const { store, panes, notify } = actions,
    [all, at] = allChanges(actions);
  if (!all.length) return notify("None of the plan's changes are in this picture.", "warn");
  const next = at < 0 ? (by > 0 ? 0 : all.length - 1) : (at + by + all.length) % all.length,
    change = all[next]!,
    pane = panes[change.pane];
  linked.activate(change.pane);
  store.set({ change });
  pane.goTo(change.name, keyboard, true);
  pane.arrive();
  notify(`Change ${next + 1} of ${all.length}: ${change.name.replace(/^~/, "").slice(0, 80)} ${WORDS[change.state]}.`);
}
