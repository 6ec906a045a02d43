// The basket: the sweeps and trials to compare, kept in the browser and shared by its tabs.
import { useSyncExternalStore } from "react";

export type Kind = "sweeps" | "trials";
export type Basket = Readonly<Record<Kind, readonly number[]>>;

const KEY = "podium.basket";
export const MOST: Readonly<Record<Kind, number>> = { sweeps: 20, trials: 100 }; // as the service compares
const EMPTY: Basket = { sweeps: [], trials: [] };
const listeners = new Set<() => void>();
let known: Basket | null = null;

/** Ids in a text, such as "3,5": distinct and at most as many as can be compared. */
export function idsIn(text: string, kind: Kind): number[] {
  const ids = text.split(",").map(Number);
  return [...new Set(ids.filter(id => Number.isSafeInteger(id) && id > 0))].slice(0, MOST[kind]);
}

function read(): Basket {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    const lists = stored as Partial<Record<Kind, unknown>>;
    return { sweeps: idsIn(String(lists.sweeps ?? ""), "sweeps"), trials: idsIn(String(lists.trials ?? ""), "trials") };
  } catch {
    return EMPTY; // damaged, or the browser keeps nothing
  }
}

function write(next: Basket): void {
  known = next;
  try {
    localStorage.setItem(KEY, JSON.stringify({ sweeps: next.sweeps.join(), trials: next.trials.join() }));
  } catch {
    // the basket lasts as long as the page
  }
  for (const listener of listeners) listener();
}

export function basket(): Basket {
  known ??= read();
  return known;
}

function subscribe(listener: () => void): () => void {
  const fromAnotherTab = (event: StorageEvent) => {
    if (event.key !== KEY) return;
    known = read();
    listener();
  };
  listeners.add(listener);
  window.addEventListener("storage", fromAnotherTab);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("storage", fromAnotherTab);
  };
}

export function useBasket(): Basket {
  return useSyncExternalStore(subscribe, basket);
}

/** Adds items; the oldest give way above the maximum. */
export function add(kind: Kind, ids: readonly number[]): void {
  const all = [...new Set([...basket()[kind], ...ids])].slice(-MOST[kind]);
  write({ ...basket(), [kind]: all });
}

export function remove(kind: Kind, id: number): void {
  write({ ...basket(), [kind]: basket()[kind].filter(each => each !== id) });
}

export function clear(): void {
  write(EMPTY);
}

export function count({ sweeps, trials }: Basket): number {
  return sweeps.length + trials.length;
}

/** The address of the page that compares these items. */
export function compareHref({ sweeps, trials }: Basket): string {
  const query = new URLSearchParams();
  if (sweeps.length > 0) query.set("sweeps", sweeps.join());
  if (trials.length > 0) query.set("trials", trials.join());
  const text = query.toString().replaceAll("%2C", ",");
  return text ? `/compare?${text}` : "/compare";
}

/** For tests: forgets what was read. */
export function reset(): void {
  known = null;
  for (const listener of listeners) listener();
}
