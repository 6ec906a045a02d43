// The rows inside the brushes. Returns the same array while the rows do not change, so that nothing is redrawn.
import { useMemo, useRef } from "react";
import { type Brushes, rowsIn } from "./brush-filter-terms";
import { idsOf, type Points } from "./trial-columns";

export function useBrushedRows(points: Points, brushes: Brushes): Uint8Array {
  const previous = useRef<Uint8Array | null>(null);
  return useMemo(() => {
    const found = rowsIn(points.columns, brushes, idsOf(points).length);
    const before = previous.current;
    const isSame = before?.length === found.length && before.every((each, row) => each === found[row]);
    previous.current = isSame ? before : found;
    return previous.current;
  }, [points, brushes]);
}
