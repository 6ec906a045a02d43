// The selected trials of a sweep and the hovered one, shared by all views.
import { useSyncExternalStore } from "react";

type Selection = { selected: ReadonlySet<number>; hovered: number | null };

const EMPTY: Selection = { selected: new Set(), hovered: null };
const stores = new Map<number, Selection>();
const listeners = new Set<() => void>();

function change(sweepId: number, next: Partial<Selection>): void {
  stores.set(sweepId, { ...selectionOf(sweepId), ...next });
  for (const listener of listeners) listener();
}

function selectionOf(sweepId: number): Selection {
  return stores.get(sweepId) ?? EMPTY;
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The selection of a sweep, as trial ids. */
export function useSelection(sweepId: number): Selection {
  return useSyncExternalStore(subscribe, () => selectionOf(sweepId));
}

export function toggle(sweepId: number, trialId: number): void {
  const selected = new Set(selectionOf(sweepId).selected);
  if (!selected.delete(trialId)) selected.add(trialId);
  change(sweepId, { selected });
}

export function select(sweepId: number, trialIds: Iterable<number>): void {
  change(sweepId, { selected: new Set(trialIds) });
}

export function hover(sweepId: number, trialId: number | null): void {
  if (selectionOf(sweepId).hovered !== trialId) change(sweepId, { hovered: trialId });
}
