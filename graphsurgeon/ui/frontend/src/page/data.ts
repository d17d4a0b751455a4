// The data of a page: what Python has written, and how the page uses it.
import type { Details, State, TensorText } from "../model/types.generated";
import type { Searchable } from "./find";
import type { Nesting } from "./nest";

/** The details of a row that Python has written; the page sets the others. */
type RowDetails = Pick<Details, "rows" | "inputs" | "outputs"> & Partial<Details>;

export interface PageData extends Nesting, Searchable {
  /** What the page shows first. */ state: State;
  rows: (Nesting["rows"][number] & Searchable["rows"][number])[];
  details: RowDetails[];
  /** The rows that are open at first. */ open: number[];
  families: Record<string, string>;
  docs: Record<string, string>;
}

/** Details with numbers of tensors, and the number of their rows. */
type PackedDetails = Omit<RowDetails, "rows" | "inputs" | "outputs"> & { rows: number; inputs?: number[]; outputs?: number[] };

/** Key -> its value in each of some things, or null if a thing does not have it. */
type Columns<T> = { [K in keyof T]: (T[K] | null)[] };

/** The data as Python has written it: each key of rows and details once, with its values. */
export interface PackedData extends Omit<PageData, "rows" | "details"> {
  rows: Columns<PageData["rows"][number]>;
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
    });
  return {
    ...packed,
    rows: unpackColumns(packed.rows),
    details: unpackColumns(packed.details).map(one => ({
      ...one,
      rows: packed.facts[one.rows]!,
      inputs: texts(one.inputs),
      outputs: texts(one.outputs),
    })),
  };
}
