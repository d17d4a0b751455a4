// The data from Python and the messages to it, written from graphsurgeon/view/page_types.py and from the
// signatures of the commands in graphsurgeon/ui/commands by tools/write_verbs.py.

export type PaneName = "source" | "destination";

export type Direction = "LR" | "TB";

export type PlanView = "after" | "before" | "both";

export type RunTarget = "applied" | "destination" | "graph" | "plan" | "selection";

export type BoxKind = "op" | "call" | "scope" | "series" | "variable";

export type ItemKind = BoxKind | "block";

export type Level = "info" | "busy" | "warn" | "error";

export type Mark = "" | "new" | "orphan" | "changed" | "conflict" | "removed" | "shape";

export type ValueType = "boolean" | "number" | "string | null" | "string[]";

export type EdgeMark = "" | "new" | "joined" | "changed" | "removed";

/** A rectangle, in px. */
export interface Rect {
  x: number;
  y: number;
  w: number;
  h: number;
}

/** The color of a box: its entry in the legend, the color ("" for none), shares of colors, and words. */
export interface Paint {
  key: string;
  color: string;
  bars: [string, number][];
  text: string;
}

/** A box of the picture; `lines` is its label on two lines, if it has two. */
export interface Box extends Rect {
  id: string;
  kind: BoxKind;
  name: string;
  label: string;
  subtitle: string;
  count: number;
  family: string;
  state: Mark;
  outputs: number;
  hidden: Record<string, number>;
  lines?: string[];
  paint?: Paint;
}

/** A frame of the picture. */
export interface Group extends Rect {
  id: string;
  name: string;
  label: string;
  count: number;
  depth: number;
  state: Mark;
}

export interface Edge {
  from: string;
  to: string;
  path: number[];
  count: number;
  tensor: string;
  control?: boolean;
  quiet?: boolean;
  state?: EdgeMark;
  label?: string;
  label_x?: number;
  label_y?: number;
}

/** A color of the legend, and the number of boxes that have it. */
export interface LegendItem {
  key: string;
  text: string;
  color: string;
  boxes: number;
}

/** The colors of a picture, and the keys of those that are drawn faint. */
export interface Legend {
  by: string;
  title: string;
  items: LegendItem[];
  faded: string[];
}

/** Numbers about a picture; `degraded` describes a coarser layout. */
export interface SceneStats {
  ops: number;
  boxes: number;
  edges: number;
  hidden: Record<string, number>;
  degraded: string;
}

/** A picture. `lines` are SVG path data, without the M at the start; `columns` are for the next layout. */
export interface Scene {
  rev: string;
  w: number;
  h: number;
  direction: Direction;
  boxes: Box[];
  groups: Group[];
  edges: Edge[];
  lines: string[];
  stats: SceneStats;
  columns?: Record<string, string[]>;
  legend?: Legend;
}

/** The pictures of both panes. */
export interface Scenes {
  source: Scene | null;
  destination: Scene | null;
}

/** A tensor, with a text about it such as its dtype and shape. */
export interface TensorText {
  tensor: string;
  text: string;
}

/** A tensor with its dtype and shape; these are empty if they are not known. */
export interface TensorRow extends TensorText {
  dtype: string;
  shape: string;
}

/** A marked boundary. `leak_count` counts all leaks and control inputs; the lists may be shorter. */
export interface Boundary {
  inputs: TensorRow[];
  outputs: TensorRow[];
  included: string[];
  ops: number;
  boxes: Record<string, number>;
  leak_count: number;
  leaks: TensorText[];
  control_leaks: TensorText[];
  variables: number;
  problem: string;
}

/** The boundary on the screen; `is_reversed`: whether it would be valid with inputs and outputs swapped. */
export interface MarkedBoundary extends Boundary {
  is_reversed: boolean;
}

/** A boundary that could be marked. */
export interface SuggestedBoundary extends Boundary {
  text: string;
}

/** An op of a path, and the edge that leads to it as text. */
export interface PathStep {
  op: string;
  text: string;
}

/** The path between two boxes, in the direction of the data: the reason why one depends on the other. */
export interface DependencyPath {
  text: string;
  steps: PathStep[];
}

/** An error; `argument` is the invalid argument, if there is one. */
export interface ErrorParts {
  request: string;
  problem: string;
  suggestion: string;
  argument?: string;
}

/** Adapters that make a tensor fit: the kinds, and their effect. */
export interface Adapter {
  kinds: string[];
  text: string;
}

/** An error of the plan with its fixes, the best first, and the number of its step; null if all steps have it. */
export interface Fault extends ErrorParts {
  fixes: Adapter[];
  step: number | null;
}

/** A tensor that enters a copy, with its source, or a tensor that leaves the copy.

The kind `keep` is the original tensor. For a copy that cannot be made, it is the requested kind. `same`: the copy
is made in its own graph. */
export interface CopyEnd extends TensorRow {
  step: number;
  end: "in" | "out";
  kind: string;
  source: string;
  same: boolean;
}

/** The report of a save, a recipe or a check, and the same call in Python.

`existing` is the message about an existing file: nothing was written, and the user must confirm to replace it. */
export interface Report {
  title: string;
  lines: string[];
  code: string;
  existing?: string;
}

/** Nothing. */
export interface Empty {}

/** A plan that was applied; `ahead`: it was undone and can be redone. */
export interface Event {
  step: number;
  text: string;
  ahead: boolean;
}

/** A step of the plan in words. */
export interface PlanStep {
  text: string;
  muted: boolean;
}

/** The numbers of things that a plan makes, and of ops that it changes or removes. */
export interface PlanCounts {
  ops: number;
  variables: number;
  placeholders: number;
  connections: number;
  changed: number;
  removed: number;
}

/** An op that a plan makes, the op that it is a copy of, and its type. */
export interface NewOp {
  name: string;
  original: string;
  op: string;
}

/** A variable of a copy: its policy, and where its first values are from. */
export interface VariableRow {
  name: string;
  original: string;
  dtype: string;
  shape: string;
  size: string;
  policy: string;
  values: string;
}

/** A variable of the copy that a step makes. */
export interface StepVariable extends VariableRow {
  step: number;
}

export interface Connection {
  from: string;
  to: string;
  input: number;
  previous: string;
}

/** The plan that is being made.

`scopes` has the scope of the copy of each step, `links` the parts of a message that contains names: a text, or a
name with its target and its pane. `rows` is the number of variables; the list may be shorter. */
export interface DraftPlan {
  inputs: CopyEnd[];
  scopes: Record<string, string>;
  steps: PlanStep[];
  mode: string;
  also_copied: string[];
  faults: Fault[];
  warnings: string[];
  links: Record<string, string[][]>;
  counts: PlanCounts;
  rows: number;
  new: NewOp[];
  variables: StepVariable[];
  connections: Connection[];
  code: string;
  ready: boolean;
  applied: string;
}

/** The plan, the last report, and the applied plans. `same`: source and destination are one graph. */
export interface Plan extends DraftPlan {
  same: boolean;
  saved: Report | Record<string, never>;
  history: Event[];
}

/** The line of text at the bottom. */
export interface Status {
  text: string;
  level: Level;
}

/** A row of the outline. */
export interface Row {
  name: string;
  label: string;
  kind: string;
  count: number;
  depth: number;
  open: boolean;
}

/** The visible rows of the outline, top to bottom. */
export interface Outline {
  rows: Row[];
}

/** The titles of both panes, and the model in one line. */
export interface Titles {
  source: string;
  destination: string;
  model?: string;
}

/** How the picture is looked at: hidden ops, colors, and the visible side of the plan. */
export interface Look {
  shown: string[];
  hidden: string[];
  training: boolean;
  by: string;
  name: string;
  faded: string[];
  budget: number;
  plan_view: PlanView;
}

/** How many actions can be undone and redone, and how often an earlier state was restored. */
export interface UndoCounts {
  undo: number;
  redo: number;
  restored: number;
}

/** The numbers of steps back and forward, the saved views, and the signatures and functions of the file. */
export interface Views extends UndoCounts {
  back: number;
  forward: number;
  saved: string[];
  signatures: string[];
  signature: string;
}

/** Counts of equal bins from `low` to `high`. */
export interface Histogram {
  counts: number[];
  low: number;
  high: number;
}

/** The values of a tensor. */
export interface Numbers {
  rows: string[][];
  histogram: Histogram | null;
}

/** The values of a tensor in a run, and their picture; `more`: whether more elements can be fetched. */
export interface TensorValues extends Numbers {
  tensor: string;
  picture: string;
  more: boolean;
}

/** The tensors of an edge, and their values in the run on the screen. */
export interface EdgeTensors {
  tensors: TensorText[];
  values: TensorValues[];
}

/** The first op with a value that is not finite: its inputs, and the path from it to the outputs. */
export interface BadOp {
  op: string;
  text: string;
  inputs: string[];
  path: string[];
}

/** The first op whose outputs differ in a trial; an empty name if no outputs differ. */
export interface DifferentOp {
  op: string;
  text: string;
  before: string;
}

/** An output of a run: the index, text and length of the bar of its largest elements, and its picture. */
export interface OutputValues extends TensorText {
  values: [string, string, number][];
  picture: string;
}

/** The ops that take the most time and memory, with their costs. */
export interface Costs {
  ms: [string, string][];
  bytes: [string, string][];
}

/** A run that the picture shows. */
export interface RunReport {
  line: string;
  outputs: OutputValues[];
  pane: PaneName;
  stop_reason: string;
  bad: BadOp | null;
  first_difference: DifferentOp | null;
  tops: Costs;
  code: string;
}

/** Everything that the page shows. `inferred`: whether the shapes that TensorFlow can infer are available.

Only a saved page, which changes nothing, is `still`; `answers` are the verbs that it answers. It has no views
before it is shown. */
export interface State {
  scenes: Scenes;
  titles: Titles;
  selected: string[];
  boundary: MarkedBoundary;
  plan: Plan;
  status: Status;
  outline: Outline;
  look?: Look;
  views?: Views;
  run?: RunReport | Record<string, never>;
  inferred?: boolean;
  theme: "auto" | "light" | "dark";
  still?: boolean;
  answers?: string[];
}

/** An attribute of ops: its value (empty if the ops differ), its value before the plan, its possible values. */
export interface Attribute {
  name: string;
  value: string;
  previous: string;
  choices: string[];
}

/** The attributes of boxes, with the number of ops of each type. */
export interface Attributes {
  types: [string, number][];
  device: string;
  attributes: Attribute[];
}

/** The details of a box. `totals` has the full lengths of the lists that are cut. */
export interface Details {
  title: string;
  rows: string[][];
  inputs: TensorText[];
  outputs: TensorText[];
  control_inputs: string[];
  consumers: string[];
  totals: Record<string, number>;
  doc: string;
  histogram: Histogram | null;
  value: boolean;
  python: string;
  run?: TensorValues[];
  device?: string;
  attributes?: Attribute[];
}

/** An op or scope that a search found, and the box that contains it. */
export interface Hit {
  name: string;
  label: string;
  op: string;
  inside: string;
}

/** The first hits of a search, the number of all, and box -> the number of hits in it. */
export interface SearchResult {
  hits: Hit[];
  total: number;
  boxes: Record<string, number>;
}

/** The parts similar to some boxes: the number of places and ops, the boxes with them, and the nearest miss. */
export interface SimilarParts {
  count: number;
  ops: number;
  boxes: Record<string, number>;
  nearest_miss: string;
}

/** An op type and its description. */
export interface OpType {
  name: string;
  doc: string;
}

/** A field of a form; `type` is that of its value, if it is not a text.

With few values, `options` has them with their texts; `names` are suggestions. */
export interface Field {
  name: string;
  label: string;
  value: string;
  hint: string;
  type?: ValueType;
  options?: [string, string][];
  names?: string[];
}

/** A recipe as an entry of the menu. `adds_steps`: it adds steps to the plan; else it acts at once. */
export interface RecipeEntry {
  name: string;
  summary: string;
  description: string;
  group: string;
  unavailable_reason: string;
  adds_steps: boolean;
  form: Field[];
}

/** The form for a save, with a note on what is saved. */
export interface SaveForm {
  fields: Field[];
  note: string;
}

/** The form for a run: the feeds, and the other fields; `risk` describes a graph that is not trusted yet. */
export interface RunForm {
  feeds: Field[];
  fields: Field[];
  target: RunTarget;
  risk: string;
}

/** An input of an op, and why it cannot read another tensor. `adaptable`: only its dtype or shape does not fit. */
export interface InputCandidate {
  op: string;
  input: number;
  current_input: string;
  reason: string;
  adaptable: boolean;
}

/** Box of a pane -> its inputs that could read a tensor; `copies`: the number of ops to copy first. */
export interface InputCandidates extends TensorText {
  pane: PaneName;
  boxes: Record<string, InputCandidate[]>;
  copies: number;
}

/** A script. */
export interface Code {
  code: string;
}

/** A result in one line. */
export interface Line {
  line: string;
}

/** The effect of a plan in one line. */
export interface Applied {
  applied: string;
}

export type Mode = "add" | "set" | "toggle";
export type Unmapped = "include" | "keep" | "placeholder" | "refuse";
export type ColorBy = "bytes" | "device" | "difference" | "dtype" | "family" | "magnitude" | "ms" | "not finite" | "scope" | "structure" | "zeros";
export type Policy = "copy" | "freeze" | "initial" | "share";
export type Waits = "auto" | "drop" | "include" | "keep" | "refuse";

/** Verb -> its arguments. */
export interface Verbs {
  select: { names: string[]; mode: Mode };
  reveal: { name: string; pane: PaneName };
  show_signature: { name: string };
  details: { name: string; pane: PaneName };
  edge_tensors: { source: string; target: string; control: boolean; pane: PaneName };
  value: { name: string };
  find: { query: string; pane: PaneName };
  set_direction: { direction: "LR" | "TB" | "auto" };
  back: Record<string, never>;
  forward: Record<string, never>;
  save_view: { name: string | null; at: number[] };
  show_view: { name: string };
  delete_view: { name: string };
  set_plan_view: { show: PlanView };
  attributes: { names: string[]; pane: PaneName };
  op_types: { query: string; names: string[]; inputs: number };
  unfold: { name: string; pane: PaneName };
  fold: { name: string; pane: PaneName };
  fold_all: { pane: PaneName };
  set_depth: { depth: number; pane: PaneName };
  set_budget: { boxes: number };
  outline_open: { name: string };
  outline_close: { name: string };
  show_helpers: { kind: string; on: boolean };
  hide_ops: { types: string[] };
  show_training: { on: boolean };
  paint: { by: ColorBy };
  paint_file: { path: string };
  fade: { keys: string[] };
  run_form: { target: RunTarget };
  trust: { target: RunTarget };
  run: { feeds: Record<string, string>; target: RunTarget; seed: number; limit: number; memory: number };
  fetch: { tensor: string };
  clear_run: Record<string, never>;
  select_between: { a: string; b: string };
  show_path: { a: string; b: string; pane: PaneName };
  mark_input: { tensor: string };
  mark_output: { tensor: string };
  unmark: { tensor: string };
  clear_boundary: Record<string, never>;
  mark_boundary: Record<string, never>;
  set_boundary: { inputs: string[]; outputs: string[] };
  suggest_boundaries: Record<string, never>;
  add_leak: { tensor: string };
  include: { tensor: string };
  swap_boundary: Record<string, never>;
  copy: { to: string | null; unmapped: Unmapped; control: Waits };
  connect: { tensor: string; to: string; input: number };
  adapt: { tensor: string; to: string; input: number; kinds: string[] };
  apply_fix: { fault: number; fix: number };
  set_policy: { step: number; variable: string; policy: Policy };
  set_input: { step: number; tensor: string; replacement: string };
  set_scope: { step: number; to: string };
  apply: Record<string, never>;
  reroute: { old: string; to: string; only: string[] };
  swap: { a: string; b: string };
  bypass: { op: string };
  detach: { names: string[]; side: "both" | "inputs" | "outputs" };
  insert: { op: string; on: string; name: string | null; only: string[] };
  remove: { names: string[]; stitch: boolean };
  set_attr: { names: string[]; name: string; value: string };
  set_device: { names: string[]; device: string };
  add_control: { op: string; after: string };
  remove_control: { op: string; after: string | null };
  reroute_control: { old: string; to: string };
  rename: { old: string; to: string };
  collapse: { names: string[]; name: string | null };
  inline: { names: string[] };
  unroll: { loop: string; times: number };
  resolve_condition: { name: string; value: string };
  on_copies: { scope: string | null; until: string[]; assign: "copy" | "leave" };
  find_similar: { names: string[] };
  replace: { names: string[]; replacement: string; external: "keep" | "refuse" };
  copy_to_clipboard: { names: string[]; pane: PaneName };
  cut: { names: string[] };
  paste: { to: string | null; keep_inputs: boolean };
  duplicate: { names: string[]; pane: PaneName; to: string | null; keep_inputs: boolean };
  insert_copy: { names: string[]; on: string; to: string | null; pane: PaneName };
  copy_and_connect: { tensor: string; to: string; input: number; kinds: string[] };
  input_candidates: { tensor: string; pane: PaneName };
  adapters: { tensor: string; to: string; input: number; pane: PaneName };
  remove_step: { step: number };
  move_step: { step: number; before: number };
  mute_step: { step: number; on: boolean };
  step_form: { step: number };
  edit_step: { step: number; values: Record<string, string> };
  save_form: Record<string, never>;
  save: { path: string; format: "checkpoint" | "frozen" | "graph_def" | "keras" | "meta_graph" | "page" | "picture" | "saved_model" | "saved_model_tf2" | "tflite"; signature: string; inputs: string; outputs: string; values: "current" | "initial"; if_exists: "ask" | "replace" };
  history_code: Record<string, never>;
  recipes: Record<string, never>;
  run_recipe: { name: string; values: Record<string, string> };
  check: { target: "tfjs" | "tflite"; outputs: string; inputs: string; verify: boolean };
  undo: Record<string, never>;
  redo: Record<string, never>;
  go_to_step: { step: number };
  cancel: Record<string, never>;
  infer: Record<string, never>;
}

/** Verb -> its answer, for the verbs that have one. */
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
  run: Line;
  fetch: TensorValues;
  show_path: DependencyPath;
  suggest_boundaries: SuggestedBoundary[];
  apply: Applied;
  find_similar: SimilarParts;
  input_candidates: InputCandidates;
  adapters: Adapter[];
  step_form: Field[];
  save_form: SaveForm;
  save: Report;
  history_code: Code;
  recipes: RecipeEntry[];
  run_recipe: Line;
  check: Report;
}
