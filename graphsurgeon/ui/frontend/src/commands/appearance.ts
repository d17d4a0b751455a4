// View options and colors: the two menus of the top bar, and their items in the menu of a box.
import { figure } from "../panels/dom";
import type { Actions } from "./actions";
import { opens } from "../state/places";
import { measures } from "../panels/runpanel";
import type { Choice } from "../panels/popup";
import type { Position } from "../panels/parts";
import type { Box, ColorBy, Group, Look, PaneName } from "../model/types.generated";

const COLORS: [ColorBy, string][] = [
  ["family", "Op family"],
  ["device", "Device"],
  ["scope", "Name scope"],
  ["dtype", "Dtype"],
  ["structure", "Repeated structure"],
];
/** The kinds of helpers in Python: only these can be shown by kind. */
const HELPERS = ["constants", "variables", "initializers", "saving ops", "no-ops", "summaries", "unconnected ops", "queue ops", "orphans"];
const DEPTHS = [1, 2, 3],
  MOST = 400,
  USUAL = 200;
const NONE: Look = { shown: [], hidden: [], training: true, by: "family", name: "", faded: [], budget: USUAL, plan_view: "both" };

function lookOf({ model }: Actions): Look {
  return model.get("look") ?? NONE;
}

/** The view options: depth, helpers and hidden op types. */
export function viewMenu(actions: Actions, pane: PaneName, at?: Position): void {
  const { item } = actions,
    look = lookOf(actions),
    hidden = actions.model.get("scenes").source?.stats.hidden ?? {},
    isLarge = look.budget > USUAL;
  const choices: (Choice | false)[] = [
    item("Initial view", "fold_all", { pane }),
    item("Fold all scopes", "set_depth", { depth: 0, pane }),
    ...DEPTHS.map(depth => item(`Unfold to depth ${depth}`, "set_depth", { depth, pane })),
    actions.choice("train", actions.panes[pane], undefined, { on: look.training }),
    ...HELPERS.filter(kind => hidden[kind] || look.shown.includes(kind)).map(kind => {
      const on = look.shown.includes(kind);
      return item(`Show ${kind}${on ? "" : ` (${figure(hidden[kind]!)} hidden)`}`, "show_helpers", { kind, on: !on }, { on });
    }),
    actions.choice("map", actions.panes[pane], undefined, { on: actions.panes[pane].map.isWanted }),
    ...look.hidden.map(kind => item(`Show ${kind} again`, "hide_ops", { types: look.hidden.filter(k => k !== kind) })),
    item(`Show up to ${MOST} boxes`, "set_budget", { boxes: isLarge ? USUAL : MOST }, { on: isLarge }),
  ];
  actions.popup.choose("View options", choices, at);
}

/** The menu of colors. */
export function colorMenu(actions: Actions, at?: Position): void {
  const { by, name } = lookOf(actions),
    { run } = actions,
    shown = run ? measures(run) : [];
  actions.popup.choose(
    "Color by",
    [
      ...COLORS.map(([way, text]) => actions.item(text, "paint", { by: way }, { on: by === way })),
      ...shown.map(([way, text]) => actions.item(`${text} (run)`, "paint", { by: way }, { on: by === "values" && name === way })),
      { text: "Numbers of a CSV file\u2026", verb: "paint_file", run: () => askFile(actions) },
      ...((by === "values" || by === "words") && !shown.some(([way]) => way === name) ? [{ text: name, on: true, run: () => {} }] : []),
    ],
    at,
  );
}

function askFile(actions: Actions): void {
  const note = "Each row has the name of an op or layer, and a number.";
  actions.form("Color by numbers of a file", "paint_file", "Color", {}, {}, undefined, note);
}

/** Hides gradients, or shows them in their scopes. */
export function showTraining(actions: Actions): void {
  actions.post("show_training", { on: !lookOf(actions).training });
}

/** Hides the ops of the type of a box. */
export function hideType(actions: Actions, of: Box | Group): Choice[] {
  if (opens(of) || !("kind" in of)) return [];
  const type = of.subtitle.split(" \u00b7 ")[0]!;
  return [actions.item(`Hide all ops of type ${type}`, "hide_ops", { types: [...lookOf(actions).hidden, type] })];
}
