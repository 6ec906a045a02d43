// Per-tab storage that survives a reload; kept in memory if the browser's storage is unavailable.

const kept = new Map<string, string>();

export function readKept(key: string): string | null {
  try {
    return sessionStorage.getItem(key) ?? kept.get(key) ?? null;
  } catch {
    return kept.get(key) ?? null;
  }
}

export function writeKept(key: string, text: string): void {
  kept.set(key, text);
  try {
    sessionStorage.setItem(key, text);
  } catch {
    // Refused, or full: it is kept until the page is left.
  }
}

export function forgetKept(key: string): void {
  kept.delete(key);
  try {
    sessionStorage.removeItem(key);
  } catch {
    // There was nothing.
  }
}
