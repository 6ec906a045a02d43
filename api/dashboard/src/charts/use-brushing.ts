// Brushes while they move: all charts of the page update at once; the filter in the URL is written after a pause.
import { useCallback, useEffect, useRef, useState } from "react";
import { setQuery } from "../url";
import type { ChartPoints } from "./data";
import { type Brushes, writeBrushes } from "./terms";

const RESTS_MS = 250; // between two keys; browsers also limit how often a page may change its URL

export type Brushing = ChartPoints & {
  moving: boolean; // the filter in the URL does not match the brushes yet
  onBrushes: (brushes: Brushes, isDone: boolean) => void;
  onRest: () => void; // writes pending changes
};

export function useBrushing(charts: ChartPoints, filter: string): Brushing {
  const [draft, setDraft] = useState<{ of: string; brushes: Brushes } | null>(null);
  const waiting = useRef<{ text: string; timer: ReturnType<typeof setTimeout> } | null>(null);
  const { base, parameters, outcomes } = charts;
  const moving = draft !== null && draft.of === filter;

  const onRest = useCallback(() => {
    if (!waiting.current) return;
    clearTimeout(waiting.current.timer);
    const { text } = waiting.current;
    waiting.current = null;
    setQuery({ filter: text });
  }, []);
  const onBrushes = useCallback(
    (brushes: Brushes, isDone: boolean) => {
      setDraft({ of: filter, brushes });
      clearTimeout(waiting.current?.timer);
      const text = writeBrushes(base, brushes, [...parameters, ...outcomes]);
      waiting.current = { text, timer: setTimeout(onRest, RESTS_MS) };
      if (isDone) onRest();
    },
    [filter, base, parameters, outcomes, onRest],
  );
  // The filter was changed elsewhere, or another page opened: pending changes are dropped.
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when the filter changes
  useEffect(
    () => () => {
      clearTimeout(waiting.current?.timer);
      waiting.current = null;
    },
    [filter],
  );
  return { ...charts, brushes: moving ? draft.brushes : charts.brushes, moving, onBrushes, onRest };
}
