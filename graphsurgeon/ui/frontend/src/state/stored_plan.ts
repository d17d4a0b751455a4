// Plans that were not applied, kept in the browser: they outlive the kernel and the page.
const LEAD = "graphsurgeon.plan ";

export interface Kept {
  /** the graphs: their titles, and a fingerprint that distinguishes them from others with these titles */ of: string;
  /** the kernel that has made it */ by?: string | undefined;
  /** of the plan */ code: string;
  /** the text from which the kernel restores the plan and the marks */ made: string;
}

/** Keeps the plan and the marks for a graph; nothing lets go of them. */
export function keep(of: string, made?: Kept): void {
  try {
    if (made) localStorage.setItem(LEAD + of, JSON.stringify(made));
    else localStorage.removeItem(LEAD + of);
  } catch {
    // a page may not keep anything
  }
}

/** The plan that is kept for a graph; else for another of its title. */
export function kept(of: string): Kept | undefined {
  try {
    const key = LEAD + of,
      like = (one: string) => one.startsWith(key.replace(/[^ ]+$/, ""));
    return JSON.parse(localStorage.getItem(key) ?? localStorage.getItem(Object.keys(localStorage).find(like)!)!) ?? undefined;
  } catch {
    return undefined;
  }
}
