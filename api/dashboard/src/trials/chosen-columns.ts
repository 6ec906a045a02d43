// The columns of a sweep's table that the user chose: in the URL, and kept in this browser for the next visit.
import { figureOf } from "./metric-summary-columns";

/** Their keys, from the text in the URL; null: the defaults. */
export function chosenColumns(inUrl: string, sweepId: number): readonly string[] | null {
  const text = inUrl || readColumns(sweepId);
  if (!text) return null;
  const keys = text.split(",").map(decodeURIComponent);
  return keys.includes("number") ? keys : ["number", ...keys];
}

/** Those that are figures of metrics. */
export function chosenFigures(inUrl: string, sweepId: number): string[] {
  return (chosenColumns(inUrl, sweepId) ?? []).filter(key => figureOf(key));
}

/** Keeps them, and returns their text for the URL. */
export function storeColumns(sweepId: number, keys: readonly string[]): string {
  const text = keys.map(encodeURIComponent).join();
  try {
    if (text) localStorage.setItem(nameOf(sweepId), text);
    else localStorage.removeItem(nameOf(sweepId));
  } catch {
    // Storage is disabled or full: the URL has the columns.
  }
  return text;
}

function readColumns(sweepId: number): string {
  try {
    return localStorage.getItem(nameOf(sweepId)) ?? "";
  } catch {
    return "";
  }
}

function nameOf(sweepId: number): string {
  return `podium.columns.${sweepId}`;
}
