// Which rows are in the brushes: the same array for as long as they are the same rows, so that nothing is drawn twice.
import { useMemo, useRef } from "react";
import { idsOf, type Points } from "./points";
import { type Brushes, rowsIn } from "./terms";

export function useRowsIn(points: Points, brushes: Brushes): Uint8Array {
  const kept = useRef<Uint8Array | null>(null);
  return useMemo(() => {
    const found = rowsIn(points.columns, brushes, idsOf(points).length);
    const before = kept.current;
    const isSame = before?.length === found.length && before.every((each, row) => each === found[row]);
    kept.current = isSame ? before : found;
    return kept.current;
  }, [points, brushes]);
}
