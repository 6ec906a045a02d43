// The rows inside the brushes. Returns the same array while the rows do not change, so that nothing is redrawn.
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
