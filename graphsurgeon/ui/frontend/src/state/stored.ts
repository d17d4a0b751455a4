// Settings of the user in the storage of the browser; a page may have no permission for it.

/** A stored setting; null without one. */
export function load(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** Stores a setting if possible; null removes it. */
export function store(key: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch {
    // then it is not stored
  }
}
