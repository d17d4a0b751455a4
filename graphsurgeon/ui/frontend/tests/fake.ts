// A model and scenes for tests.
import { LocalModel } from "../src/page/model";
import type { Box, Details, Edge, Group, MarkedBoundary, Plan, Scene, State, TensorRow, Views } from "../src/model/types.generated";

export const NO_BOUNDARY: MarkedBoundary = {
  inputs: [],
  outputs: [],
  included: [],
  ops: 0,
  boxes: {},
  leak_count: 0,
  leaks: [],
  control_leaks: [],
  variables: 0,
  problem: "",
  is_reversed: false,
};
export const NO_PLAN: Plan = {
  inputs: [],
  scopes: {},
  steps: [],
  mode: "append",
  also_copied: [],
  faults: [],
  warnings: [],
  links: {},
  counts: { ops: 0, variables: 0, placeholders: 0, connections: 0, changed: 0, removed: 0 },
  rows: 0,
  new: [],
  variables: [],
  connections: [],
  code: "",
  ready: false,
  applied: "",
  same: true,
  saved: {},
  history: [],
};

export const NO_DETAILS: Details = {
  title: "",
  rows: [],
  inputs: [],
  outputs: [],
  control_inputs: [],
  consumers: [],
  totals: {},
  doc: "",
  histogram: null,
  value: false,
  python: "",
};

export const NO_VIEWS: Views = { back: 0, forward: 0, undo: 0, redo: 0, restored: 0, saved: [], signatures: [], signature: "" };

export function box(name: string, more: Partial<Box> = {}): Box {
  return {
    id: "b" + name,
    kind: name.endsWith("/") ? "scope" : "op",
    name,
    label: name,
    subtitle: "Relu",
    count: 1,
    family: "other",
    x: 0,
    y: 0,
    w: 80,
    h: 40,
    state: "",
    outputs: 1,
    hidden: {},
    ...more,
  };
}

export function group(name: string, more: Partial<Group> = {}): Group {
  return { id: "g" + name, name, label: name, count: 3, depth: 0, x: 0, y: 0, w: 200, h: 100, state: "", ...more };
}

/** An edge with its own line. */
interface FakeEdge extends Edge {
  line: string;
}

export function edge(from: string, to: string, more: Partial<FakeEdge> = {}): FakeEdge {
  return { from: "b" + from, to: "b" + to, path: [], line: "0,0C0,10 0,20 0,30", count: 1, tensor: from + ":0", ...more };
}

export function scene(boxes: Box[], edges: FakeEdge[] = [], groups: Group[] = []): Scene {
  return {
    rev: "1",
    w: 300,
    h: 300,
    direction: "TB",
    boxes,
    groups,
    edges: edges.map(({ line: _line, ...rest }, i) => ({ ...rest, path: [i] })),
    lines: edges.map(e => e.line),
    stats: { ops: boxes.length, boxes: boxes.length, edges: edges.length, hidden: {}, degraded: "" },
  };
}

export class FakeModel extends LocalModel {
  sent: any[] = [];

  constructor(state: Partial<State> = {}) {
    super({
      scenes: { source: scene([box("a"), box("b", { y: 100 })], [edge("a", "b")]), destination: null },
      titles: { source: "s", destination: "d" },
      selected: [],
      boundary: NO_BOUNDARY,
      plan: NO_PLAN,
      status: { text: "", level: "info" },
      outline: { rows: [] },
      look: { shown: [], hidden: [], training: true, by: "family", name: "", faded: [], budget: 200, plan_view: "both" as const },
      theme: "light",
      ...state,
    });
  }

  send(content: unknown): void {
    this.sent.push(content);
  }
  /** [verb, args] of what was sent. */
  get verbs(): [string, unknown][] {
    return this.sent.map(m => [m.verb, m.args]);
  }
  /** Answers the last message of a verb. */
  answer(verb: string, result: unknown = null): void {
    const asked = [...this.sent].reverse().find(m => m.verb === verb);
    this.emit("msg:custom", { v: 1, id: asked.id, ok: true, result });
  }
  /** Refuses the last message of a verb. */
  refuse(verb: string, problem: string): void {
    const asked = [...this.sent].reverse().find(m => m.verb === verb);
    this.emit("msg:custom", { v: 1, id: asked.id, ok: false, error: { request: verb, problem, suggestion: "Type another" } });
  }
}

/** A tensor of a list, of unknown dtype and shape. */
export const tensorRow = (tensor: string, text: string): TensorRow => ({ tensor, dtype: "", shape: "", text });
