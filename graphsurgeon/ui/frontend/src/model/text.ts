// The width of a text, from the table of view/boxes.py, so that texts fit their boxes in any font.
const ASCII =
  "278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 " +
  "556 556 278 278 584 584 584 556 1015 667 667 722 722 667 611 778 722 278 500 667 556 833 722 778 " +
  "667 778 722 667 611 722 667 944 667 667 611 278 278 278 469 556 333 556 556 500 556 556 278 556 " +
  "556 222 222 500 222 833 556 556 556 556 333 500 278 556 500 722 500 500 500 334 260 334 584";
const WIDTHS = new Map<string, number>([
  ...ASCII.split(" ").map((w, i) => [String.fromCharCode(32 + i), +w] as const),
  ["\u2026", 1000],
  ["\u00b7", 333],
  ["\u00d7", 584],
  ["\u2212", 584],
  ["\u2192", 1000],
  ["\u26a0", 1000],
  ["\u0394", 668],
]);

/** Sizes in px at 100 %, for the layout. */
export const LABEL = 12;
export const SUB = 11;
/** From one line of a label to the next, px. */
export const LEADING = 14;

/** The width of `text` in px; null if the table lacks a character. */
export function measure(text: string, size: number, bold = false): number | null {
  let units = 0;
  for (const c of text) units += WIDTHS.get(c) ?? NaN;
  return units >= 0 ? Math.round((units * (bold ? 1.075 : 1) * size) / 10) / 100 : null;
}

/** Attributes that give a text the width that its box was made for, in any font. */
export function textWidthAttributes(text: string, size: number, bold = false): Record<string, unknown> {
  const wide = text.trim() ? measure(text, size, bold) : null;
  return wide === null ? {} : { textLength: wide, lengthAdjust: "spacingAndGlyphs" };
}
