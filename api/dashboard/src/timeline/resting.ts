// The visible span while zooming: it changes at once and is committed after a pause, so that one gesture is one request.
import { useEffect, useRef, useState } from "react";
import type { Span } from "./span";

const RESTS_MS = 150;
type Tell = (span: Span | null) => void;

export function useResting(span: Span | null, tell: Tell): [Span | null, Tell] {
  const [draft, setDraft] = useState<{ span: Span | null } | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what was told has arrived, or somebody went elsewhere
  useEffect(() => setDraft(null), [span?.from, span?.to]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const change = (next: Span | null) => {
    setDraft({ span: next });
    clearTimeout(timer.current);
    timer.current = setTimeout(() => tell(next), RESTS_MS);
  };
  return [draft ? draft.span : span, change];
}
