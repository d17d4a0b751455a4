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

/** The width of `text` in px; a character that is not in the table counts one em. */
export function width(text: string, size: number, bold = false): number {
  let units = 0;
  for (const c of text) units += WIDTHS.get(c) ?? 1000;
  return Math.round((units * (bold ? 1.075 : 1) * size) / 10) / 100;
}

/** The width of `text` in px; null if the table lacks a character. */
export function measure(text: string, size: number, bold = false): number | null {
  return [...text].every(c => WIDTHS.has(c)) ? width(text, size, bold) : null;
}

/** Attributes that give a text the width that its box was made for, in any font. */
export function fitted(text: string, size: number, bold = false): Record<string, unknown> {
  const wide = text.trim() ? measure(text, size, bold) : null;
  return wide === null ? {} : { textLength: wide, lengthAdjust: "spacingAndGlyphs" };
}

/** The maximum number of characters of a label on one line; longer labels have two lines. */
const LINE = 30;

/** A label as one line, or a long label as two lines; the same as `broken` of view/boxes.py. */
export function broken(label: string): string[] {
  const chars = [...label],
    middle = chars.length / 2;
  if (chars.length <= LINE) return [label];
  for (const sign of ["/", "\u2026 ", " ", "_"]) {
    const wide = [...sign].length,
      places: number[] = [];
    for (let i = wide; i <= chars.length; i++) {
      if (chars.slice(i - wide, i).join("") === sign && i / chars.length >= 0.25 && i / chars.length <= 0.75) places.push(i);
    }
    if (!places.length) continue;
    const at = places.reduce((best, i) => (Math.abs(i - middle) < Math.abs(best - middle) ? i : best));
    return [chars.slice(0, at).join("").trimEnd(), chars.slice(at).join("").trimStart()];
  }
  const half = middle % 1 === 0.5 && Math.floor(middle) % 2 === 0 ? Math.floor(middle) : Math.round(middle);
  return [chars.slice(0, half).join(""), chars.slice(half).join("")];
}
