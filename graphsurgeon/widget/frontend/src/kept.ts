// A plan that is kept in the browser until it is applied or taken back: a kernel that ends does not take it away.
const LEAD = "graphsurgeon.plan ";

/** Keeps the code of a plan for a graph; an empty one lets go of it. */
export function keep(graph: string, code: string): void {
  try {
    if (code) sessionStorage.setItem(LEAD + graph, code);
    else sessionStorage.removeItem(LEAD + graph);
  } catch {
    // a page may not keep anything
  }
}

/** The code of the plan that is kept for a graph. */
export function kept(graph: string): string {
  try {
    return sessionStorage.getItem(LEAD + graph) ?? "";
  } catch {
    return "";
  }
}
