// The search of a page: the words of a query are patterns, compared with the names and facts that Python has written.
import type { Details, Hit, SearchResult } from "../model/types.generated";

export interface Searchable {
  /** The names of all ops. */ names: string[];
  types: string[];
  /** For each op its type, and the row that contains it or that it helps; -1 for none. */ typeOf: number[];
  holders: number[];
  rows: { name: string; label: string; subtitle: string; kind: string; family: string }[];
  details: Partial<Details>[];
}

/** Something that a search can find: an op, or a fold. */
interface Searched {
  name: string;
  op: string;
  row: number;
  /** Whether it has no separate box. */ inside: boolean;
  /** Facts, such as "op:Conv2D", in lower case; made when they are needed. */ facts(): string[];
}

type Search = (query: string, visible: (row: number) => string) => SearchResult;

/** Returns the search of a graph: the hits for the list, best first, with the visible boxes that contain them. It throws if a pattern is
 * not valid. */
export function searchOf({ names, types, typeOf, holders, rows, details }: Searchable): Search {
  const folds = rows.flatMap(({ name, subtitle, kind }, row) =>
    kind === "op" || kind === "variable" ? [] : [{ name, op: subtitle, row, inside: false, facts: () => [] }],
  );
  const ops = names.map((name, i): Searched => {
    const op = types[typeOf[i]!]!,
      row = holders[i]!,
      inside = rows[row]?.name !== name;
    return { name, op, row, inside, facts: () => (inside ? factsOf(op) : factsOf(op, details[row], rows[row]!.family)) };
  });
  const entries: Searched[] = [...folds, ...ops];
  return (query, visible) => {
    const words = query.split(/\s+/).filter(Boolean),
      tests = words.map(word => {
        const excluded = word.length > 1 && word.startsWith("-"),
          fits = test(excluded ? word.slice(1) : word);
        return (thing: Searched) => fits(thing) !== excluded;
      }),
      last = (words.at(-1) ?? "").toLowerCase(),
      rank = ({ name }: Searched) => {
        const low = name.toLowerCase(),
          leaf = leafOf(low);
        return low === last || leaf === last ? 0 : leaf.startsWith(last) ? 1 : 2;
      };
    const found = words.length ? entries.filter(thing => tests.every(fits => fits(thing))) : [];
    if (!/[*?:]|^\//.test(last)) found.sort((a, b) => rank(a) - rank(b) || +a.inside - +b.inside || a.name.length - b.name.length);
    const boxes: Record<string, number> = {};
    for (const { row } of found) {
      const name = visible(row);
      if (name) boxes[name] = (boxes[name] ?? 0) + 1;
    }
    const hits = found.slice(0, 50).map(({ name, op, row }): Hit => ({ name, label: leafOf(name), op, inside: visible(row) }));
    return { total: found.length, boxes, hits };
  };
}

/** The last part of a name. */
function leafOf(name: string): string {
  return name.replace(/\/$/, "").split("/").pop()!;
}

function factsOf(op: string, { rows = [], outputs = [] }: Partial<Details> = {}, family = ""): string[] {
  const facts = [`op:${op}`, `type:${op}`, `is:${family}`];
  for (const [key, value = ""] of rows) facts.push(`attr:${key}=${value.replace(/^["']|["']$/g, "")}`, `${key}:${value}`);
  for (const { text } of outputs) {
    const [, dtype, shape] = /^(\w+?)(?:_ref)?(?: \((.*)\))?$/.exec(text) ?? [];
    facts.push(`dtype:${dtype}`);
    if (shape !== undefined) facts.push(`shape:${shape.replace(/,$/, "").replaceAll(", ", "x")}`);
  }
  return facts.map(fact => fact.toLowerCase());
}

const KEYS = /^(attr|device|dtype|is|op|shape|type):(.+)$/;

/** The test of one word: a regular expression or pattern for names, or the pattern of a fact. */
function test(word: string): (thing: Searched) => boolean {
  if (word.length > 2 && word.startsWith("/") && word.endsWith("/")) {
    const pattern = new RegExp(word.slice(1, -1));
    return ({ name }) => pattern.test(name);
  }
  const low = word.toLowerCase(),
    [, key, value = ""] = KEYS.exec(low) ?? [];
  if (!key) {
    const fits = /[*?]/.test(low) ? glob(low) : (name: string) => name.includes(low.split(":")[0]!);
    return ({ name }) => fits(name.toLowerCase());
  }
  const parts: Record<string, string> = {
      attr: value.includes("=") ? value.replace(/=["']?(.*?)["']?$/, "=$1") : `${value}=*`,
      device: `*${value}*`,
      shape: value
        .replace(/[()[\]]/g, "")
        .replace(/[,\s]+/g, "x")
        .replaceAll("...", "*"),
    },
    fits = glob(`${key}:${parts[key] ?? value}`);
  return thing => thing.facts().some(fits);
}

/** The test of a pattern in which * is any text and ? any character. */
function glob(pattern: string): (text: string) => boolean {
  const escaped = pattern.replace(/[.+^${}()|[\]\\]/g, "\\$&"),
    made = new RegExp(`^${escaped.replace(/\*/g, ".*").replace(/\?/g, ".")}$`, "s");
  return text => made.test(text);
}
