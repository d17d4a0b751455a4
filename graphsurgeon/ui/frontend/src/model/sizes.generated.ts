// Radii of boxes and widths of edges in px, written from graphsurgeon/view by tools/write_verbs.py.
export const OP_RADIUS = 5,
  RADIUS = 8;
/** Of edges with 1, 2, ... tensors; edges with more tensors have the last width. */
export const WIDTHS = [1.1, 1.25, 1.4, 1.55, 1.7, 1.85, 2, 2.15, 2.3] as const;
export const QUIET_WIDTH = 0.9;
