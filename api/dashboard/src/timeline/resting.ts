// What is zoomed into is shown at once, and told when the hand rests: a turn of the wheel is one request, not a hundred.
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
