// Entries of menus and bars for actions: their keys and verbs are those of the table of keys.
import { type Action, keyOf, verbOf } from "./keys";
import type { Choice } from "../panels/popup";

/** An action as an entry of a menu or a bar. */
export function choiceOf(action: Action, text: string, run: () => unknown, more: Partial<Choice> = {}): Choice {
  return { text, key: keyOf(action), verb: verbOf(action), run, ...more };
}
