// The signs on boxes and edges, written from graphsurgeon/view/plan_marks.py by tools/write_verbs.py.
import type { EdgeMark, Mark } from "./types.generated";

export const SIGN: Record<Mark | EdgeMark, string> = {
  "": "",
  new: "+",
  joined: "→",
  orphan: "×",
  removed: "×",
  changed: "Δ",
  shape: "↔",
  conflict: "⚠",
};
