// Which columns a sweep's table shows, in which order and width.
import { useMemo } from "react";
import type { Sweep } from "../sweep/sweep";
import { setQuery, useQueryState } from "../url-query-state";
import { useIsPhone } from "../use-is-phone";
import { chosenColumns, storeColumns } from "./chosen-columns";
import { useColumnWidths } from "./column-width";
import { type Column, columnsOf, defaultColumns } from "./columns";
import { figureOf } from "./metric-summary-columns";
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

/** `shown` is the same array until the sweep, a width, the chosen columns or the kind of window change. */
export function useColumns(sweep: Sweep, found: readonly string[]): TableColumns {
  const [inUrl] = useQueryState("columns");
  const chosen = chosenColumns(inUrl, sweep.id);
  const { names: metrics } = useMetricNames(sweep.id, "", found.length > 0);
  const [widths, onWidth] = useColumnWidths(sweep.id);
  const isPhone = useIsPhone();
  // biome-ignore lint/correctness/useExhaustiveDependencies: of both lists, only the names matter
  const { columns, keys, shown } = useMemo(() => {
    const figures = (chosen ?? []).filter(key => figureOf(key));
    const named = [...found.filter(key => !figureOf(key)), ...figures];
    const columns = columnsOf(sweep, named, isPhone).map(column => ({
      ...column,
      width: widths[column.key] ?? column.width,
    }));
    const keys = chosen ?? defaultColumns(columns, sweep);
    return { columns, keys, shown: keys.flatMap(key => columns.find(column => column.key === key) ?? []) };
  }, [sweep, widths, isPhone, found.join("\n"), chosen?.join("\n")]);
  return {
    columns,
    shown,
    keys,
    metrics,
    onShown: next => setQuery({ columns: storeColumns(sweep.id, next) }),
    onReset: () => setQuery({ columns: storeColumns(sweep.id, []) }),
    onWidth,
  };
}
