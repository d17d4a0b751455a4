// Marks on the boxes of a scene: boundary tensors, leaks, the region, and the text of their labels.
import { countOf, figure } from "../panels/dom";
import { placeOf, opOf } from "./places";
import type { Boundary, Box, Group, Mark, Scene, TensorText } from "../model/types.generated";

export interface BoxMarks {
  inputs: number[];
  outputs: number[];
  leaks: number;
  /** ops of the region inside; 0 when it is outside */
  region: number;
}

export interface Chip {
  kind: "in" | "out" | "leak" | "from";
  text: string;
}

/** Box or group name -> its marks. */
export function marksOf(scene: Scene, boundary: Boundary | null): Map<string, BoxMarks> {
  const marks = new Map<string, BoxMarks>();
  if (!boundary) return marks;
  const at = (name: string) => {
    let m = marks.get(name);
    if (!m) marks.set(name, (m = { inputs: [], outputs: [], leaks: 0, region: 0 }));
    return m;
  };
  const put = (tensors: TensorText[], note: (marks: BoxMarks, number: number) => unknown) =>
    tensors.forEach((t, i) => {
      const name = placeOf(scene, opOf(t.tensor))?.name;
      if (name !== undefined) note(at(name), i + 1);
    });
  for (const [name, n] of Object.entries(boundary.boxes)) if (n) at(name).region = n;
  put(boundary.inputs, (m, n) => m.inputs.push(n));
  put(boundary.outputs, (m, n) => m.outputs.push(n));
  put([...boundary.leaks, ...boundary.control_leaks], m => m.leaks++);
  return marks;
}

/** The small labels at the bottom of a box. */
export function chipsOf(marks: BoxMarks | undefined, isStart: boolean): Chip[] {
  const chips: Chip[] = [];
  if (marks?.inputs.length) chips.push({ kind: "in", text: "\u25b7 " + numbered("in", marks.inputs) });
  if (marks?.leaks) chips.push({ kind: "leak", text: "\u26a0 " + (marks.leaks > 1 ? `${marks.leaks} leaks` : "leak") });
  if (marks?.outputs.length) chips.push({ kind: "out", text: "\u25c1 " + numbered("out", marks.outputs) });
  if (isStart) chips.push({ kind: "from", text: "\u2192 from" });
  return chips;
}

function numbered(word: string, numbers: number[]): string {
  if (numbers.length <= 2) return `${word} ${numbers.join(", ")}`;
  return `${numbers.length} ${word}`;
}

const WORDS: Record<Mark, string> = {
  "": "",
  new: "new",
  orphan: "orphan",
  changed: "changed",
  conflict: "in conflict",
  removed: "removed",
  shape: "with another shape",
};

/** The second line of a box: its type, and the number of hidden ops. */
export function subOf(box: Box): string {
  const hidden = Object.values(box.hidden).reduce((n, m) => n + m, 0);
  return box.subtitle + (hidden && box.subtitle ? ` \u00b7 ${figure(hidden)} hidden` : "");
}

/** The text of a box or group for screen readers: first its visible text, then the meaning of its shape. */
export function labelOf(item: Box | Group, marks: BoxMarks | undefined, chips: Chip[], neighbors: [number, number]): string {
  const words = [item.label, marks && isPart(marks, item) ? share(marks.region, item) : "kind" in item ? subOf(item) : count(item)];
  words.push(...chips.map(c => c.text));
  const said = [words.filter(Boolean).join(" ")];
  if (item.name !== item.label) said.push(item.name);
  if ("kind" in item) {
    if (item.kind !== "op") said.push(item.kind);
    said.push(`${neighbors[0]} in, ${neighbors[1]} out`);
    for (const [what, n] of Object.entries(item.hidden ?? {})) said.push(`${countOf(n, what)} hidden`);
    if (item.paint?.text) said.push(item.paint.text);
  } else said.push("open scope");
  if (marks?.inputs.length) said.push("boundary input");
  if (marks?.outputs.length) said.push("boundary output");
  if (marks?.region) said.push(isPart(marks, item) ? `${marks.region} of ${item.count} ops in the region` : "in the region");
  if (item.state) said.push(WORDS[item.state]);
  return said.filter(Boolean).join(", ");
}

/** Whether only some ops of a fold are in the region. */
export function isPart(marks: BoxMarks, item: Box | Group): boolean {
  return marks.region > 0 && marks.region < item.count;
}

/** The part of a fold in the region: "3/8 ops". */
export function share(inside: number, item: Box | Group): string {
  return `${figure(inside)}/${figure(item.count)} ops`;
}

/** The second part of a group's heading. */
export function count(group: Group): string {
  return countOf(group.count, "ops");
}
