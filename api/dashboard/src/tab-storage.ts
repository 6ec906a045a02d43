// Per-tab storage that survives a reload; kept in memory if the browser's storage is unavailable.

const fallback = new Map<string, string>();

export function readStored(key: string): string | null {
  try {
    return sessionStorage.getItem(key) ?? fallback.get(key) ?? null;
  } catch {
    return fallback.get(key) ?? null;
  }
}

export function writeStored(key: string, text: string): void {
  fallback.set(key, text);
  try {
    sessionStorage.setItem(key, text);
  } catch {
    // Disabled or full: the text is kept in memory until the page is left.
  }
}

export function removeStored(key: string): void {
  fallback.delete(key);
  try {
    sessionStorage.removeItem(key);
  } catch {
    // Storage is disabled: nothing was stored.
  }
}
