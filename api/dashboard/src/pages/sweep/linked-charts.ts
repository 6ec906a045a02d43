// Links the charts of a sweep: they draw the same trials and share the hovered and the selected ones.
import { useCallback, useDeferredValue, useMemo } from "react";
import { useLocation } from "wouter";
import { countIn } from "../../charts/brush-filter-terms";
import type { ChartPoints } from "../../charts/queries";
import { columnOf, idsOf, type Points } from "../../charts/trial-columns";
import { useBrushedRows } from "../../charts/use-brushed-rows";
import { hover, useSelection } from "../../selection";
import { trialHref } from "../../trials/trial-references";

/** For charts of these points: rows are indices into their columns. */
export function useLinked(sweepId: number, points: Points, { brushes }: ChartPoints) {
  const [, go] = useLocation();
  const { hovered, selected } = useSelection(sweepId);
  const ids = idsOf(points);
  const rows = useMemo(() => new Map(ids.map((id, row) => [id, row])), [ids]);
  const deferred = useDeferredValue(brushes); // the brushed chart is drawn first, then the others
  const inside = useBrushedRows(points, deferred);
  const count = useMemo(() => countIn(inside), [inside]);
  const onActive = useCallback(
    (row: number | null) => hover(sweepId, row === null ? null : (ids[row] ?? null)),
    [sweepId, ids],
  );
  const numbers = columnOf(points, "number") as readonly number[];
  const onOpen = useCallback((row: number) => go(trialHref(sweepId, numbers[row] as number)), [go, sweepId, numbers]);
  const active = hovered === null ? null : (rows.get(hovered) ?? null);
  return { inside, count, active, selected, onActive, onOpen };
}

export type Linked = ReturnType<typeof useLinked>;
