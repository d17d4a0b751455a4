// What was made and not applied, kept in the browser: neither a kernel that ends nor a page that closes takes it away.
const LEAD = "graphsurgeon.plan ";

export interface Kept {
  /** of the plan */ code: string;
  marks: { inputs: string[]; outputs: string[] };
}

/** Keeps the plan and the marks for a graph; nothing lets go of them. */
export function keep(graph: string, made?: Kept): void {
  try {
    if (made) localStorage.setItem(LEAD + graph, JSON.stringify(made));
    else localStorage.removeItem(LEAD + graph);
  } catch {
    // a page may not keep anything
  }
}

/** What is kept for a graph. */
export function kept(graph: string): Kept | undefined {
  try {
    return JSON.parse(localStorage.getItem(LEAD + graph)!) ?? undefined;
  } catch {
    return undefined;
  }
}
