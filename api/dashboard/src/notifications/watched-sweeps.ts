// The sweeps of which this browser shows notifications; kept in its storage, shared by all tabs.
import { useSyncExternalStore } from "react";

const KEY = "podium.notify";
const listeners = new Set<() => void>();
let text = read();
let watched: readonly number[] = parse(text);

function read(): string {
  try {
    return localStorage.getItem(KEY) ?? "[]";
  } catch {
    return "[]"; // storage is disabled: the choice lasts until the page is left
  }
}

function parse(stored: string): readonly number[] {
  try {
    const found: unknown = JSON.parse(stored);
    return Array.isArray(found) ? found.filter(each => Number.isInteger(each)) : [];
  } catch {
    return [];
  }
}

export function watchedSweeps(): readonly number[] {
  return watched;
}

export function watchSweep(id: number, on: boolean): void {
  const next = [...watched.filter(each => each !== id), ...(on ? [id] : [])];
  change(JSON.stringify(next));
  try {
    localStorage.setItem(KEY, text);
  } catch {
    // as above
  }
}

function change(next: string): void {
  text = next;
  watched = parse(text);
  for (const listener of listeners) listener();
}

window.addEventListener("storage", event => {
  if (event.key === KEY) change(event.newValue ?? "[]"); // in another tab
});

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useWatchedSweeps(): readonly number[] {
  return useSyncExternalStore(subscribe, watchedSweeps);
}
