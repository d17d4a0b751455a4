// What the verbs answer, written from graphsurgeon/ui/commands/table.py by tools/write_verbs.py.
import type { Adapter, Alike, Argument, Attributes, Details, Found, Held, Numbers, OpType, RecipeEntry, RunForm, SaveForm, Suggested, Takers, Way, Wrote } from "./types";

/** Verb -> what it answers, for the verbs that answer something. */
export interface Results {
  details: Details;
  attributes: Attributes;
  op_types: OpType[];
  find: Found;
  find_like: Alike;
  why: Way;
  value: Numbers;
  save_view: string;
  show_view: number[];
  run_form: RunForm;
  run: { line: string };
  held: Held[];
  fetch: Held;
  suggest_boundaries: Suggested[];
  takers: Takers;
  adapters: Adapter[];
  step_form: Argument[];
  recipes: RecipeEntry[];
  recipe: { line: string };
  check: Wrote;
  save_form: SaveForm;
  save: Wrote;
  history_code: { code: string };
  apply: { applied: string };
}
