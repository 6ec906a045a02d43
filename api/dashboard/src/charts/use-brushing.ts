// The brushes as they move: every chart of the page follows at once, the filter in the URL when the hand rests.
import { useCallback, useEffect, useRef, useState } from "react";
import { setQuery } from "../url";
import type { ChartPoints } from "./data";
import { type Brushes, writeBrushes } from "./terms";

const RESTS_MS = 250; // between two keys; also, browsers refuse URLs that change more often than some times a second

export type Brushing = ChartPoints & {
  moving: boolean; // the filter in the URL is not yet what is brushed
  onBrushes: (brushes: Brushes, isDone: boolean) => void;
  onRest: () => void; // write what is not written yet
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
  // A filter from elsewhere, or another page: what was not written yet is of what is no more.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the filter is what it is about
  useEffect(
    () => () => {
      clearTimeout(waiting.current?.timer);
      waiting.current = null;
    },
    [filter],
  );
  return { ...charts, brushes: moving ? draft.brushes : charts.brushes, moving, onBrushes, onRest };
}
