// The command palette: commands, recipes, views and ops in one list that is searched while the user types.
import { recipeChoices } from "./forms";
import { showView } from "./navigation";
import type { Actions } from "./actions";
import { type Action, KEYS } from "./keys";
import type { Entry } from "../panels/popup";
import { displayName } from "../state/places";

interface Command extends Entry {
  run(): unknown;
}

/** The maximum number of ops in the list. */
const MAX_OPS = 20,
  /** Actions that need the focus in the picture, or that are part of typing. */
  NOT_LISTED: Action[] = ["select", "open", "menu", "down", "first", "views", "palette", "escape", "toggle", "copy_to_clipboard"];

/** Opens the palette at once, so that it gets each key; its list follows when the kernel has answered. */
export function openPalette(actions: Actions): void {
  const { api, model, pane, popup } = actions;
  const commands: Command[] = KEYS.flatMap(([action, , sign, text]) =>
    text && actions.offers(action) && !NOT_LISTED.includes(action) ? [{ name: text, doc: sign!, run: () => actions.do(action) }] : [],
  );
  const listed = Promise.resolve(api.answers("recipes") ? recipeChoices(actions) : []).then(choices =>
    choices.flatMap(({ text, group, off, run }): Command[] => (off ? [] : [{ name: text, doc: `recipe: ${group}`, run }])),
  );
  for (const name of api.answers("show_view") ? (model.get("views")?.saved ?? []) : [])
    commands.push({ name, doc: "view", run: () => showView(actions, name) });
  let found: Command[] = [];
  const find = async (query: string): Promise<Command[]> => {
    const words = query.toLowerCase().split(/\s+/),
      ops = query ? ((await actions.send("find", { query, pane: pane.name }))?.hits ?? []) : [];
    found = [
      ...[...commands, ...(await listed)].filter(({ name, doc }) => words.every(word => `${name} ${doc}`.toLowerCase().includes(word))),
      ...ops.slice(0, MAX_OPS).map(({ name, op }) => ({ name: displayName(name), doc: op, run: () => actions.reveal(pane.name, name) })),
    ];
    return found;
  };
  popup.form("Commands", [{ name: "command", label: "Command, recipe, view or op", find }], "Run", v =>
    found.find(one => one.name === v["command"])?.run(),
  );
}
