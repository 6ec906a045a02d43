// Which columns a sweep's table shows, in which order and width: in the URL, and kept in this browser for the next visit.
import type { Sweep } from "../sweep/sweep";
import { setQuery, useQueryState } from "../url";
import { useColumnWidths } from "./column-width";
import { type Column, columnsOf, defaultColumns } from "./columns";
import { figureOf } from "./metric-figures";
import { useMetricNames } from "./use-metric-names";

export type TableColumns = {
  columns: readonly Column[]; // all
  shown: readonly Column[];
  keys: readonly string[]; // of those shown
  metrics: readonly string[]; // names to choose from
  onShown: (keys: readonly string[]) => void;
  onReset: () => void;
  onWidth: (key: string, width: number) => void;
};

/** The keys of the columns that the user chose; null: the defaults. */
export function useChosenColumns(sweepId: number): readonly string[] | null {
  const [chosen] = useQueryState("columns");
  const text = chosen || readColumns(sweepId);
  if (!text) return null;
  const keys = text.split(",").map(decodeURIComponent);
  return keys.includes("number") ? keys : ["number", ...keys];
}

export function useColumns(sweep: Sweep, found: readonly string[]): TableColumns {
  const chosen = useChosenColumns(sweep.id);
  const { names: metrics } = useMetricNames(sweep.id);
  const [widths, onWidth] = useColumnWidths(sweep.id);
  const figures = (chosen ?? []).filter(key => figureOf(key));
  const columns = columnsOf(sweep, [...found.filter(key => !figureOf(key)), ...figures]).map(column => ({
    ...column,
    width: widths[column.key] ?? column.width,
  }));
  const keys = chosen ?? defaultColumns(columns, sweep);
  return {
    columns,
    shown: keys.flatMap(key => columns.find(column => column.key === key) ?? []),
    keys,
    metrics,
    onShown: next => {
      const text = next.map(encodeURIComponent).join();
      storeColumns(sweep.id, text);
      setQuery({ columns: text });
    },
    onReset: () => {
      storeColumns(sweep.id, "");
      setQuery({ columns: "" });
    },
    onWidth,
  };
}

function readColumns(sweepId: number): string {
  try {
    return localStorage.getItem(`podium.columns.${sweepId}`) ?? "";
  } catch {
    return "";
  }
}

function storeColumns(sweepId: number, text: string): void {
  try {
    if (text) localStorage.setItem(`podium.columns.${sweepId}`, text);
    else localStorage.removeItem(`podium.columns.${sweepId}`);
  } catch {
    // Storage is disabled or full: the URL has the columns.
  }
}
