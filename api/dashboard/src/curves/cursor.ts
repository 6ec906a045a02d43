// The place under the pointer on the x axis, shared by the charts of a grid.
import { useSyncExternalStore } from "react";

let place: number | null = null;
const listeners = new Set<() => void>();

export function setCursor(x: number | null): void {
  if (place === x) return;
  place = x;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useCursor(): number | null {
  return useSyncExternalStore(subscribe, () => place);
}
