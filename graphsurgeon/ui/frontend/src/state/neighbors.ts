// The boxes upstream and downstream in a picture: walks along its edges, without the kernel.
import type { Box, Scene } from "../model/types.generated";

export type FlowWay = "up" | "down";

const FREE = /^(Identity|IdentityN|ReadVariableOp|Snapshot)$/;
/** Whether a box only forwards its input, so that it does not count as a step. */
function isFree(b: Box): boolean {
  return b.kind === "op" && FREE.test(b.subtitle.split(" \u00b7 ")[0]!);
}

/** Ids of the boxes up to a number of steps away, including the starting boxes. */
export function reach(scene: Scene, from: Iterable<string>, way: FlowWay, most = Infinity): Set<string> {
  const free = new Set(scene.boxes.filter(isFree).map(b => b.id)),
    next = new Map<string, string[]>(),
    far = new Map<string, number>();
  for (const e of scene.edges) {
    const [id, other] = way === "down" ? [e.from, e.to] : [e.to, e.from];
    if (!next.get(id)?.push(other)) next.set(id, [other]);
  }
  let now = [...from],
    steps = 0;
  while (now.length && steps <= most) {
    const later: string[] = [];
    // a box that does not count as a step is visited in the same round: the list grows
    for (const id of now) {
      if (far.has(id)) continue;
      far.set(id, steps);
      for (const other of next.get(id) ?? []) if (!far.has(other)) (free.has(other) ? now : later).push(other);
    }
    now = later;
    steps++;
  }
  return new Set(far.keys());
}
