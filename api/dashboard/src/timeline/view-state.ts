// The visible span and the view mode of the timeline, in the URL.
import { setQuery, useQueryState } from "../url-query-state";
import type { Span } from "./visible-span";

export type ViewState = {
  span: Span | null;
  onSpan: (span: Span | null) => void;
  asTable: boolean;
  onAsTable: (on: boolean) => void;
};

export function useViewState(): ViewState {
  const [from] = useQueryState("from");
  const [to] = useQueryState("to");
  const [as, setAs] = useQueryState("as");
  return {
    span: spanOf(from, to),
    onSpan: keepSpan,
    asTable: as === "table",
    onAsTable: on => setAs(on ? "table" : ""),
  };
}

function keepSpan(span: Span | null): void {
  setQuery({ from: span ? span.from.toFixed(3) : "", to: span ? span.to.toFixed(3) : "" });
}

/** The span given by two URL values; null if they are invalid. */
export function spanOf(from: string, to: string): Span | null {
  const span = { from: Number(from), to: Number(to) };
  return from !== "" && to !== "" && span.from > 0 && span.from < span.to ? span : null;
}
