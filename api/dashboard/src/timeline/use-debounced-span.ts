// The visible span while zooming: it changes at once and is committed after a pause, so that one gesture is one request.
import { useEffect, useRef, useState } from "react";
import type { Span } from "./visible-span";

const COMMIT_DELAY_MS = 150;
type SpanHandler = (span: Span | null) => void;

export function useDebouncedSpan(span: Span | null, onCommit: SpanHandler): [Span | null, SpanHandler] {
  const [draft, setDraft] = useState<{ span: Span | null } | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the committed span has arrived, or the user navigated
  useEffect(() => setDraft(null), [span?.from, span?.to]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const change = (next: Span | null) => {
    setDraft({ span: next });
    clearTimeout(timer.current);
    timer.current = setTimeout(() => onCommit(next), COMMIT_DELAY_MS);
  };
  return [draft ? draft.span : span, change];
}
