// Signs on boxes and edges, radii of boxes and widths of edges in px, written from graphsurgeon/view by
// tools/write_verbs.py.
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
export const OP_RADIUS = 5,
  RADIUS = 8,
  /** Of edges with 1, 2, ... tensors; edges with more tensors have the last width. */
  WIDTHS = [1.1, 1.25, 1.4, 1.55, 1.7, 1.85, 2, 2.15, 2.3] as const,
  QUIET_WIDTH = 0.9;
