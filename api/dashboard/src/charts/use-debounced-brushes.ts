// Brushes while they move: all charts of the page update at once; the filter in the URL is written when a brush was
// released or a single key pressed, and after a pause while a brush moves or keys follow each other.
import { useCallback, useEffect, useRef, useState } from "react";
import { setQuery } from "../url-query-state";
import { type Brushes, writeBrushes } from "./brush-filter-terms";
import type { ChartPoints } from "./queries";

const WRITE_DELAY_MS = 250; // of a moving brush; browsers also limit how often a page may change its URL
const DRAW_MS = 120; // the charts are drawn before the service is queried

export type Brushing = ChartPoints & {
  moving: boolean; // the filter in the URL does not match the brushes yet
  onBrushes: (brushes: Brushes, isDone: boolean) => void;
  onCommit: () => void; // writes pending changes
};

export function useDebouncedBrushes(charts: ChartPoints, filter: string): Brushing {
  const [draft, setDraft] = useState<{ of: string; brushes: Brushes } | null>(null);
  const pending = useRef<{ text: string; timer: ReturnType<typeof setTimeout> } | null>(null);
  const doneAt = useRef(Number.NEGATIVE_INFINITY); // the last time that a change was done
  const { base, parameters, outcomes } = charts;
  const moving = draft !== null && draft.of === filter;

  const onCommit = useCallback(() => {
    if (!pending.current) return;
    clearTimeout(pending.current.timer);
    const { text } = pending.current;
    pending.current = null;
    setQuery({ filter: text });
  }, []);
  const onBrushes = useCallback(
    (brushes: Brushes, isDone: boolean) => {
      setDraft({ of: filter, brushes });
      clearTimeout(pending.current?.timer);
      const text = writeBrushes(base, brushes, [...parameters, ...outcomes]);
      const now = performance.now();
      const isSingle = isDone && now - doneAt.current >= WRITE_DELAY_MS;
      if (isDone) doneAt.current = now;
      const timer = isSingle ? setTimeout(() => whenIdle(onCommit), DRAW_MS) : setTimeout(onCommit, WRITE_DELAY_MS);
      pending.current = { text, timer };
    },
    [filter, base, parameters, outcomes, onCommit],
  );
  // The filter was changed elsewhere, or another page opened: pending changes are dropped.
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when the filter changes
  useEffect(
    () => () => {
      clearTimeout(pending.current?.timer);
      pending.current = null;
    },
    [filter],
  );
  return { ...charts, brushes: moving ? draft.brushes : charts.brushes, moving, onBrushes, onCommit: onCommit };
}

/** Once all charts are drawn, and at the latest when a moving brush would be written. */
function whenIdle(run: () => void): void {
  if (window.requestIdleCallback) window.requestIdleCallback(run, { timeout: WRITE_DELAY_MS - DRAW_MS });
  else run();
}
