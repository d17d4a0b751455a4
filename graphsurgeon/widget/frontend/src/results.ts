// What the verbs answer, written from graphsurgeon/screen/verbs.py by tools/write_verbs.py.
import type { Alike, Details, Found, Held, Numbers, RunForm } from "./types";

/** Verb -> what it answers, for the verbs that answer something. */
export interface Results {
  details: Details;
  find: Found;
  find_like: Alike;
  value: Numbers;
  save_view: string;
  show_view: number[];
  run_form: RunForm;
  run: { line: string };
  held: Held[];
  fetch: Held;
  apply: { applied: string };
}
