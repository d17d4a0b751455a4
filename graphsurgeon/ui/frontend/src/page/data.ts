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

/** Details with numbers of tensors, and the number of their rows. */
interface PackedDetails extends Partial<Omit<Details, "rows" | "inputs" | "outputs">> {
  rows: number;
  inputs?: number[];
  outputs?: number[];
}

/** Key -> its value in each of some things, or null if a thing does not have it. */
type Columns<T> = { [K in keyof T]: (T[K] | null)[] };

/** The inside of a fold with numbers of paths. */
interface PackedInside extends Omit<Inside, "lines"> {
  lines: [from: number, to: number, path: number, ...label: [] | [x: number, y: number]][];
}

/** The data as Python has written it: each key of rows and details once, with its values, and each path once. */
export interface PackedData extends Omit<PageData, "rows" | "inside" | "details"> {
  rows: Columns<Row>;
  paths: number[][];
  inside: Record<number, PackedInside>;
  details: Columns<PackedDetails>;
  facts: Details["rows"][];
}

function unpackColumns<T>(columns: Columns<T>): T[] {
  const lists = Object.entries(columns) as [string, unknown[]][];
  return (lists[0]?.[1] ?? []).map(
    (_, i) => Object.fromEntries(lists.map(([key, values]) => [key, values[i]]).filter(([, value]) => value !== null)) as T,
  );
}

export function unpack(packed: PackedData): PageData {
  const texts = (numbers: number[] = []): TensorText[] =>
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
    rows: unpackColumns(packed.rows),
    inside: Object.fromEntries(Object.entries(packed.inside).map(([row, one]) => [row, inside(one)])),
    details: unpackColumns(packed.details).map(one => ({
      ...one,
      rows: packed.facts[one.rows]!,
      inputs: texts(one.inputs),
      outputs: texts(one.outputs),
    })),
  };
}
