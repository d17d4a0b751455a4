// The data from Python: the traits of the widget and the results of verbs. verbs.generated.ts has the verbs.
import type { PaneName, PlanView, Verbs } from "./verbs.generated";

/** Numbers about a drawn picture. */
export type Direction = "LR" | "TB";

export type Mark = "" | "new" | "orphan" | "changed" | "conflict" | "removed" | "shape";
/** The state of an edge; a joined one is new at an op that stays. */
export type EdgeMark = "" | "new" | "joined" | "changed" | "removed";

export interface Rect {
  x: number;
  y: number;
  w: number;
  h: number;
}

export interface Box extends Rect {
  id: string;
  kind: "op" | "call" | "scope" | "series" | "variable";
  name: string;
  label: string;
  subtitle: string;
  count: number;
  family: string;
  state: Mark;
  outputs: number;
  hidden: Record<string, number>;
  detail: string;
  /** The label on two lines, if it has two. */
  lines?: string[];
  paint?: Paint;
}

/** The color of a box: the entry of the legend, its color ("" for none), shares of colors, and words. */
export interface Paint {
  key: string;
  color: string;
  bars: [string, number][];
  text: string;
}

export interface Legend {
  by: string;
  title: string;
  items: { key: string; text: string; color: string; boxes: number }[];
  faded: string[];
}

/** How the picture is looked at. */
export interface Look {
  shown: string[];
  hidden: string[];
  training: boolean;
  by: string;
  name: string;
  faded: string[];
  budget: number;
  /** The visible effects of a plan in one graph. */
  plan_view?: PlanView;
}

export interface Group extends Rect {
  id: string;
  name: string;
  label: string;
  count: number;
  depth: number;
  state: Mark;
}

/** An edge; values that are the same for most edges are left out. */
export interface Edge {
  from: string;
  to: string;
  /** The numbers of the lines of the scene that form it. */
  path: number[];
  count: number;
  /** The first of its tensors, or "^op" for a control input. */
  tensor: string;
  control?: boolean;
  quiet?: boolean;
  state?: EdgeMark;
  label?: string;
  label_x?: number;
  label_y?: number;
}

/** The tensors of an edge, and their values in the run on the screen. */
export interface EdgeTensors {
  tensors: TensorText[];
  values: TensorValues[];
}

export interface Scene {
  rev: string;
  w: number;
  h: number;
  direction: Direction;
  boxes: Box[];
  groups: Group[];
  edges: Edge[];
  /** SVG path data of the lines that form the edges, without the M at the start. */
  lines: string[];
  stats: { ops: number; boxes: number; edges: number; hidden: Record<string, number>; degraded: string };
  legend?: Legend;
}

export interface TensorText {
  tensor: string;
  text: string;
}

export interface Boundary {
  inputs: TensorText[];
  outputs: TensorText[];
  ops: number;
  boxes: Record<string, number>;
  leaks: TensorText[];
  /** The number of leaks, including control inputs; the lists may be shorter. */
  leak_count?: number;
  control_leaks: TensorText[];
  variables: number;
  problem: string;
  /** Whether the boundary would be valid with inputs and outputs swapped. */
  is_reversed?: boolean;
  included?: string[];
}

/** The path between two boxes, in the direction of the data: the reason why one depends on the other. */
export interface DependencyPath {
  text: string;
  steps: { op: string; text: string }[];
}

/** A boundary that could be marked. */
export interface SuggestedBoundary extends Boundary {
  text: string;
}

export interface ErrorParts {
  request: string;
  problem: string;
  suggestion: string;
  /** The invalid argument, if there is one. */
  argument?: string;
}

/** A tensor that enters a copy, with its source, or a tensor that leaves the copy. */
export interface CopyEnd extends TensorText {
  step: number;
  end: "in" | "out";
  /** `keep`: the original tensor; for a copy that cannot be made, the requested kind */ kind: string;
  source: string;
  /** whether the copy is made in its own graph */ same: boolean;
  dtype: string;
  shape: string;
}

export interface SaveForm {
  path: string;
  formats: [string, string][];
  inputs: string;
  outputs: string;
  note: string;
}

/** The report of a save: the contents, the parts left out, the check of the file; and the same call in Python. */
export interface Report {
  /** the title of the panel */ title: string;
  lines: string[];
  code: string;
  /** The message about an existing file at the path: nothing was written, and the user must confirm to replace it. */
  existing?: string;
}

/** A recipe as an entry of the menu. */
export interface RecipeEntry {
  name: string;
  summary: string;
  description: string;
  group: string;
  /** the reason why it does not apply; "" if it does */ unavailable_reason: string;
  /** whether it adds steps to the plan; else it acts at once */ adds_steps: boolean;
  form: { name: string; label: string; value: string; hint: string }[];
}

export interface Fault extends ErrorParts {
  /** The fixes, the best first. */
  fixes?: Adapter[];
  /** The number of the step that has it; null if it belongs to all steps. */
  step?: number | null;
}

/** Adapters that make a tensor fit: the kinds, and their effect. */
export interface Adapter {
  kinds: string[];
  text: string;
}

export interface Plan {
  saved?: Report | Record<string, never>;
  /** The plans that were applied; those that were undone and can be redone are ahead. */
  history?: { step: number; text: string; ahead: boolean }[];
  inputs?: CopyEnd[];
  /** Step -> the scope of the copy that it makes. */
  scopes?: Record<string, string>;
  steps: { text: string; muted?: boolean }[];
  faults: Fault[];
  warnings: string[];
  /** Message -> its parts, if it contains names: text, or a name with its target and its pane. */
  links?: Record<string, [part: string, name?: string, pane?: PaneName][]>;
  counts: { ops: number; variables: number; placeholders: number; connections: number; changed?: number; removed?: number };
  /** The number of variables; the list may be shorter. */
  rows?: number;
  new: { name: string; original: string; op: string }[];
  variables: { step: number; name: string; original: string; dtype: string; shape: string; size: string; policy: string; values: string }[];
  connections: { from: string; to: string; input: number; previous?: string }[];
  mode?: "append" | "materialize";
  also_copied?: string[];
  code: string;
  ready: boolean;
  applied: string;
  /** Whether source and destination are one graph. */
  same?: boolean;
}

export interface Status {
  text: string;
  level: "info" | "busy" | "warn" | "error";
}

export interface Row {
  name: string;
  label: string;
  kind: string;
  count: number;
  depth: number;
  open: boolean;
}

export interface State {
  protocol: number;
  scenes: { source: Scene | null; destination: Scene | null };
  titles: { source: string; destination: string; /** The model in one line. */ model?: string };
  selected: string[];
  boundary: Boundary;
  plan: Plan;
  status: Status;
  outline: { rows: Row[] };
  views?: Views;
  look?: Look;
  run?: RunShown | Record<string, never>;
  theme: "auto" | "light" | "dark";
  /** Whether the shapes that TensorFlow can infer are available; the page requests them. */
  inferred?: boolean;
  /** Whether this is a saved page: it changes nothing. */
  still?: boolean;
  /** The verbs that are answered; all of them if it is not given. */
  answers?: readonly (keyof Verbs)[];
}

/** An editable attribute of ops: its value (empty if the ops differ), its value before the plan, its possible values. */
export interface Attribute {
  name: string;
  value: string;
  previous: string;
  choices: string[];
}

export interface Attributes {
  types: [string, number][];
  device: string;
  attributes: Attribute[];
}

/** One argument of a step of the plan, in a form. */
export interface Argument {
  name: string;
  label: string;
  value: string;
  choices: string[];
}

export interface OpType {
  name: string;
  doc: string;
}

export interface Details {
  attributes?: Attribute[];
  device?: string;
  title: string;
  rows: [string, string][];
  inputs: TensorText[];
  outputs: TensorText[];
  control_inputs: string[];
  consumers: string[];
  doc: string;
  /** The full lengths of the lists; long lists are cut. */
  totals?: Partial<Record<"inputs" | "outputs" | "control_inputs" | "consumers", number>>;
  python?: string;
  histogram?: Histogram | null;
  value?: boolean;
  run?: TensorValues[];
}

/** `boxes`: box -> the number of hits in it. */
export interface SearchResult {
  hits: Hit[];
  total: number;
  boxes?: Record<string, number>;
}

/** The numbers of steps back and forward, and the names of the saved views. */
export interface Views {
  back: number;
  forward: number;
  /** The number of actions that can be undone, and redone. */
  undo?: number;
  redo?: number;
  /** The number of times that undo, redo, back, forward or a step of the history restored an earlier state. */
  restored?: number;
  saved: string[];
  /** Signatures and functions of the file, and the one that is shown. */
  signatures?: string[];
  signature?: string;
}

export interface Histogram {
  counts: number[];
  low: number;
  high: number;
}

export interface Hit {
  name: string;
  label: string;
  op: string;
  inside: string;
}

/** The parts similar to some boxes: the number of places and ops, the boxes with them, and the nearest miss. */
export interface SimilarParts {
  count: number;
  ops: number;
  boxes: Record<string, number>;
  nearest_miss: string;
}

/** The feeds of a run: each placeholder, its random values, and the variables of the notebook that fit. */
export interface RunForm {
  feeds: { tensor: string; text: string; random: string; names: string[] }[];
  selected: number;
  target: "applied" | "graph" | "plan" | "selection";
  /** The risks of a graph that you have not trusted yet; empty if it needs no trust. */
  risk: string;
}

/** An input of an op: its tensor, and the reason why it cannot read another tensor; empty if it can. */
export interface InputCandidate {
  op: string;
  input: number;
  current_input: string;
  reason: string;
  /** Whether only its dtype or shape does not fit. */
  adaptable?: boolean;
}

/** Box of a pane -> its inputs that could read a tensor. */
export interface InputCandidates {
  tensor: string;
  text: string;
  pane: PaneName;
  boxes: Record<string, InputCandidate[]>;
  /** The number of ops of the other graph to copy for a connection. */
  copies: number;
}

/** A run that the picture shows. */
export interface RunShown {
  line: string;
  pane: PaneName;
  stop_reason: string;
  bad: { op: string; text: string; inputs: string[]; path: string[] } | null;
  /** The first op whose outputs differ in a trial; an empty name if no outputs differ. */
  first_difference?: { op: string; text: string; before: string } | null;
  /** The outputs: index, text and length of the bar of their largest elements; and their pictures. */
  outputs: { tensor: string; text: string; values: [index: string, text: string, bar: number][]; picture: string }[];
  tops: { ms: [string, string][]; bytes: [string, string][] };
  code: string;
}

/** The values of a tensor in a run, and their picture. */
export interface TensorValues extends Numbers {
  tensor: string;
  picture: string;
  /** Whether more elements can be fetched. */
  more?: boolean;
}

/** The values of a tensor. */
export interface Numbers {
  rows: [string, string][];
  histogram: Histogram | null;
}

/** The part of anywidget's model that the front end uses. */
export interface Model {
  get<K extends keyof State>(name: K): State[K];
  on(event: string, callback: (...args: any[]) => void): void;
  off(event: string, callback: (...args: any[]) => void): void;
  send(content: unknown): void;
}
