// The data of a page: what Python has written, and how the page uses it.
import type { Details, State, TensorText } from "../model/types.generated";
import type { Searchable } from "./find";
import type { Nesting } from "./nest";

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

/** The data as Python has written it: each key of the rows once, with its values. */
export interface PackedData extends Omit<PageData, "rows" | "details"> {
  rows: { [K in keyof Row]: Row[K][] };
  details: PackedDetails[];
}

export function unpack(packed: PackedData): PageData {
  const columns = Object.entries(packed.rows) as [keyof Row, unknown[]][],
    texts = (numbers: number[] = []): TensorText[] =>
      numbers.map(i => {
        const [tensor, text] = packed.tensors[i]!;
        return { tensor, text };
      });
  return {
    ...packed,
    rows: (packed.rows.name ?? []).map((_, i) => Object.fromEntries(columns.map(([key, values]) => [key, values[i]])) as unknown as Row),
    details: packed.details.map(one => ({ ...one, inputs: texts(one.inputs), outputs: texts(one.outputs) })),
  };
}
