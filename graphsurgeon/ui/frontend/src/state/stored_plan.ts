// Unapplied plans in the storage of the browser, which remain after the kernel and the page.
const LEAD = "graphsurgeon.plan ";

export interface StoredPlan {
  /** the graphs: their titles, and a fingerprint that distinguishes them from others with these titles */ graphs_id: string;
  /** the kernel that has made it */ process_id?: string | undefined;
  /** the code of the plan */ code: string;
  /** the text from which the kernel restores the plan and the marks */ draft_text: string;
}

/** Stores the plan and the marks of a graph; without an argument, removes them. */
export function storePlan(of: string, plan?: StoredPlan): void {
  try {
    if (plan) localStorage.setItem(LEAD + of, JSON.stringify(plan));
    else localStorage.removeItem(LEAD + of);
  } catch {
    // the page may have no permission for storage
  }
}

/** The stored plan of a graph; else the plan of another graph with its title. */
export function loadStoredPlan(of: string): StoredPlan | undefined {
  try {
    const key = LEAD + of,
      like = (one: string) => one.startsWith(key.replace(/[^ ]+$/, ""));
    return JSON.parse(localStorage.getItem(key) ?? localStorage.getItem(Object.keys(localStorage).find(like)!)!) ?? undefined;
  } catch {
    return undefined;
  }
}
