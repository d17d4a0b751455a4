// The search of a page without a kernel: the words of graph/search.py, over the data of the page.
import type { Found } from "../model/types";
import type { PageGraph } from "./graph";

type Test = (row: number) => boolean;

/** Rows that match all words of a query, best first; throws a text if a pattern is not valid. */
export function find(graph: PageGraph, query: string, attributes: (row: number) => [string, string][]): number[] {
  const words = query.split(/\s+/).filter(Boolean),
    outputs = new Map<number, string[]>();
  if (words.some(w => /^-?(dtype|shape):/i.test(w)))
    for (const [row, , text] of graph.packed.tensors) outputs.set(row, [...(outputs.get(row) ?? []), text]);
  const tests = words.map(word => {
    const no = word.length > 1 && word.startsWith("-"),
      test = testOf(no ? word.slice(1) : word, graph, outputs, attributes);
    return no ? (row: number) => !test(row) : test;
  });
  const hits: number[] = [];
  if (words.length)
    graph.packed.rows.forEach((_, i) => {
      if (tests.every(t => t(i))) hits.push(i);
    });
  const last = (words.at(-1) ?? "").toLowerCase();
  if (/[*?:]|^\//.test(last)) return hits;
  const rank = (row: number) => {
    const name = graph.row(row)[2].toLowerCase(),
      leaf = name.replace(/\/$/, "").split("/").pop()!;
    return name === last || leaf === last ? 0 : leaf.startsWith(last) ? 1 : 2;
  };
  return hits.sort((a, b) => rank(a) - rank(b) || graph.row(a)[2].length - graph.row(b)[2].length || a - b);
}

function testOf(word: string, graph: PageGraph, outputs: Map<number, string[]>, attributes: (row: number) => [string, string][]): Test {
  const name = (row: number) => graph.row(row)[2],
    at = word.indexOf(":"),
    key = word.slice(0, at).toLowerCase(),
    value = word.slice(at + 1);
  if (word.length > 2 && word.startsWith("/") && word.endsWith("/")) {
    const pattern = new RegExp(word.slice(1, -1));
    return row => pattern.test(name(row));
  }
  const isOp = (row: number) => graph.row(row)[1] === "op" || graph.row(row)[1] === "variable";
  const typeOf = (row: number) => graph.row(row)[4].split(" \u00b7 ")[0]!;
  if (at > 0 && value) {
    const fits = glob(value);
    if (key === "is") return row => graph.row(row)[6] === "unknown" && graph.row(row)[1] === "op";
    if (key === "op" || key === "type") return row => isOp(row) && fits(typeOf(row));
    if (key === "dtype") return row => (outputs.get(row) ?? []).some(text => fits(text.split(" ")[0]!.replace(/_ref$/, "")));
    if (key === "shape") return row => (outputs.get(row) ?? []).some(text => shape(value, text));
    if (key === "device") return row => attributes(row).some(([k, v]) => k === "device" && glob(`*${value}*`)(v));
    if (key === "attr") {
      const [what, wanted] = [value.split("=")[0]!.toLowerCase(), value.split("=").slice(1).join("=").replace(/^"|"$/g, "")],
        same = glob(wanted || "*");
      return row => attributes(row).some(([k, v]) => k.toLowerCase() === what && same(v.replace(/^["']|["']$/g, "")));
    }
  }
  if (/[*?]/.test(word)) {
    const fits = glob(word);
    return row => fits(name(row));
  }
  const low = word.toLowerCase().split(":")[0]!;
  return row => name(row).toLowerCase().includes(low);
}

/** The regular expression of a pattern with * and ?, ignoring case. */
export function glob(pattern: string): (text: string) => boolean {
  const made = new RegExp(
    "^" +
      pattern
        .replace(/[.+^${}()|[\]\\]/g, "\\$&")
        .replace(/\*/g, ".*")
        .replace(/\?/g, ".") +
      "$",
    "is",
  );
  return text => made.test(text);
}

/** Whether a shape matches a query: sizes separated by x or comma; ? for an unknown size, * for any size, ... for any number of sizes. */
export function shape(asked: string, text: string): boolean {
  const known = /\(([^)]*)\)/.exec(text)?.[1];
  if (known === undefined) return false;
  const dims = known
      .split(",")
      .map(d => d.trim())
      .filter(Boolean),
    wanted = asked
      .replace(/[()[\]]/g, "")
      .split(/[x,]/i)
      .map(d => d.trim())
      .filter(Boolean);
  const same = (w: string, d: string | undefined) => d !== undefined && (w === "*" || w === d);
  const gap = wanted.indexOf("...");
  if (gap < 0) return wanted.length === dims.length && wanted.every((w, i) => same(w, dims[i]));
  const before = wanted.slice(0, gap),
    after = wanted.slice(gap + 1);
  return (
    dims.length >= before.length + after.length &&
    before.every((w, i) => same(w, dims[i])) &&
    after.every((w, i) => same(w, dims[dims.length - after.length + i]))
  );
}

/** The hits for the list, with the boxes that contain them. */
export function hitsOf(graph: PageGraph, rows: number[], open: ReadonlySet<number>): Found {
  const inside = (row: number) => {
    const shut = graph.above(row).find(f => !open.has(f));
    return graph.row(shut ?? row)[2];
  };
  const boxes: Record<string, number> = {};
  for (const i of rows)
    if (!(open.has(i) && graph.opens(i))) {
      const name = inside(i);
      boxes[name] = (boxes[name] ?? 0) + 1;
    }
  return {
    total: rows.length,
    boxes,
    hits: rows.slice(0, 50).map(i => ({ name: graph.row(i)[2], label: graph.row(i)[3], op: graph.row(i)[4], inside: inside(i) })),
  };
}
