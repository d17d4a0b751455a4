// What the verbs answer, written from graphsurgeon/ui/commands/specs.py by tools/write_verbs.py.
import type { Adapter, Argument, Attributes, DependencyPath, Details, InputCandidates, Numbers, OpType, RecipeEntry, Report, RunForm, SaveForm, SearchResult, SimilarParts, SuggestedBoundary, TensorValues } from "./types";

/** Verb -> what it answers, for the verbs that answer something. */
export interface Results {
  details: Details;
  attributes: Attributes;
  op_types: OpType[];
  find: SearchResult;
  find_similar: SimilarParts;
  show_path: DependencyPath;
  value: Numbers;
  save_view: string;
  show_view: number[];
  run_form: RunForm;
  run: { line: string };
  tensor_values: TensorValues[];
  fetch: TensorValues;
  suggest_boundaries: SuggestedBoundary[];
  input_candidates: InputCandidates;
  adapters: Adapter[];
  step_form: Argument[];
  recipes: RecipeEntry[];
  run_recipe: { line: string };
  check: Report;
  save_form: SaveForm;
  save: Report;
  history_code: { code: string };
  apply: { applied: string };
}
