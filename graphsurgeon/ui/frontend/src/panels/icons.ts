// Icons as strokes on a 16 x 16 grid.
import { h, type VNode } from "./vnodes";

const PATHS = {
  fit: "M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  fold: "M4 2.5l4 3.5 4-3.5M4 13.5L8 10l4 3.5M2.5 8h11",
  undo: "M5.5 3L2.5 6l3 3M2.5 6H10a3.5 3.5 0 0 1 0 7H6",
  redo: "M10.5 3l3 3-3 3M13.5 6H6a3.5 3.5 0 0 0 0 7h4",
  close: "M4 4l8 8M12 4l-8 8",
  search: "M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9M10.5 10.5l3 3",
  left: "M2.5 3h11v10h-11zM6 3v10",
  right: "M2.5 3h11v10h-11zM10 3v10",
  bottom: "M2.5 3h11v10h-11zM2.5 9.5h11",
  full: "M9.5 2.5h4v4M13.5 2.5l-4.5 4.5M6.5 13.5h-4v-4M2.5 13.5L7 9",
  down: "M8 2.5v10M4 9l4 4 4-4",
  across: "M2.5 8h10M9 4l4 4-4 4",
  help: "M6 6.2A2 2 0 1 1 8.8 8c-.6.3-.8.7-.8 1.4M8 12v.2M8 1.8a6.2 6.2 0 1 1 0 12.4A6.2 6.2 0 0 1 8 1.8",
  copy: "M5.5 5.5h8v8h-8zM3.5 10.5h-1v-8h8v1",
  check: "M3 8.5l3.5 3.5L13 4.5",
  warn: "M8 2.5l6 11H2zM8 6.5v3.5M8 12v.1",
  input: "M3.5 3.5v9l8-4.5z",
  output: "M12.5 3.5v9l-8-4.5z",
  back: "M13 8H3M7 4L3 8l4 4",
  forward: "M3 8h10M9 4l4 4-4 4",
  views: "M4.5 2.5h7v11L8 10.5l-3.5 3z",
  eye: "M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8M8 6.2a1.8 1.8 0 1 1 0 3.6 1.8 1.8 0 0 1 0-3.6",
  colors: "M8 1.8s4 4.4 4 7.4a4 4 0 0 1-8 0c0-3 4-7.4 4-7.4M8 11.3a2 2 0 0 0 2-2",
  recipes: "M3.5 2.5h9v11h-9zM6 5.5h4M6 8h4M6 10.5h2.5",
  run: "M4.5 2.5v11l9-5.5z",
  closed: "M6 4l4 4-4 4",
  open: "M4 6l4 4 4-4",
} as const;

export type IconName = keyof typeof PATHS;

/** The icon, hidden from screen readers: its meaning is in the label of its button. */
export function icon(name: IconName): VNode {
  return h(
    `svg.gs-icon.gs-icon-${name}`,
    { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true", focusable: "false" },
    h("path", { d: PATHS[name] }),
  );
}
