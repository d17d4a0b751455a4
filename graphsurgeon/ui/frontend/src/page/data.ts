// The data of a page: what Python has written, and how the page uses it.
import type { Details, State, TensorText } from "../model/types.generated";
import type { Searchable } from "./find";
import type { Inside, Nesting } from "./nest";

export interface PageData extends Nesting, Searchable {
  title: string;
  theme: State["theme"];
  rows: (Nesting["rows"][number] & Searchable["rows"][number])[];
  /** The rows that are open at first. */ open: number[];
  families: Record<string, string>;
  docs: Record<string, string>;
  /** The number of folds whose contents were left out. */ shut: number;
}

type Row = PageData["rows"][number];

/** Details with numbers of tensors. */
interface PackedDetails extends Partial<Omit<Details, "inputs" | "outputs">> {
  inputs?: number[];
  outputs?: number[];
}

/** The inside of a fold with numbers of paths. */
interface PackedInside extends Omit<Inside, "lines"> {
  lines: [from: number, to: number, path: number, ...label: [] | [x: number, y: number]][];
}

/** The data as Python has written it: each key of the rows once, with its values, and each path once. */
export interface PackedData extends Omit<PageData, "rows" | "inside" | "details"> {
  rows: { [K in keyof Row]: Row[K][] };
  paths: number[][];
  inside: Record<number, PackedInside>;
  details: PackedDetails[];
}

export function unpack(packed: PackedData): PageData {
  const columns = Object.entries(packed.rows) as [keyof Row, unknown[]][],
    texts = (numbers: number[] = []): TensorText[] =>
      numbers.map(i => {
        const [tensor, text] = packed.tensors[i]!;
        return { tensor, text };
      }),
    inside = ({ lines, ...rest }: PackedInside): Inside => ({
      ...rest,
      lines: lines.map(([from, to, path, ...label]) => [from, to, packed.paths[path]!, ...label]),
    });
  return {
    ...packed,
    rows: (packed.rows.name ?? []).map((_, i) => Object.fromEntries(columns.map(([key, values]) => [key, values[i]])) as unknown as Row),
    inside: Object.fromEntries(Object.entries(packed.inside).map(([row, one]) => [row, inside(one)])),
    details: packed.details.map(one => ({ ...one, inputs: texts(one.inputs), outputs: texts(one.outputs) })),
  };
}
