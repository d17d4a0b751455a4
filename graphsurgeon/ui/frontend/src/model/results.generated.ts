// What the verbs answer, written from graphsurgeon/ui/commands/specs.py by tools/write_verbs.py.
import type { Adapter, Argument, Attributes, DependencyPath, Details, EdgeTensors, InputCandidates, Numbers, OpType, RecipeEntry, Report, RunForm, SaveForm, SearchResult, SimilarParts, SuggestedBoundary, TensorValues } from "./types";

/** Verb -> what it answers, for the verbs that answer something. */
export interface Results {
  details: Details;
  edge_tensors: EdgeTensors;
  value: Numbers;
  find: SearchResult;
  save_view: string;
  show_view: number[];
  attributes: Attributes;
  op_types: OpType[];
  run_form: RunForm;
  run: { line: string };
  fetch: TensorValues;
  show_path: DependencyPath;
  suggest_boundaries: SuggestedBoundary[];
  apply: { applied: string };
  find_similar: SimilarParts;
  input_candidates: InputCandidates;
  adapters: Adapter[];
  step_form: Argument[];
  save_form: SaveForm;
  save: Report;
  history_code: { code: string };
  recipes: RecipeEntry[];
  run_recipe: { line: string };
  check: Report;
}
