// The signs on boxes, written from graphsurgeon/view/ghosts.py by tools/write_verbs.py.
import type { Mark } from "./types";

export const SIGN: Record<Mark, string> = {
  "": "",
  new: "+",
  orphan: "×",
  removed: "×",
  changed: "Δ",
  shape: "↔",
  conflict: "⚠",
};
