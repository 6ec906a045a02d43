// The visible time span: zoom and pan within its limits.

/** Seconds since the epoch. */
export type Span = { from: number; to: number };

export const SHORTEST_S = 0.5;

/** Zooms by a factor (below 1: in) around a time, within the limits. */
export function zoomed({ from, to }: Span, factor: number, around: number, limits: Span): Span {
  const width = Math.min(Math.max((to - from) * factor, SHORTEST_S), limits.to - limits.from);
  const share = to > from ? (around - from) / (to - from) : 0.5;
  return clampSpan({ from: around - share * width, to: around + (1 - share) * width }, limits);
}

/** Pans by a share of the width: −0.5 moves half a width back. */
export function panned({ from, to }: Span, share: number, limits: Span): Span {
  const by = (to - from) * share;
  return clampSpan({ from: from + by, to: to + by }, limits);
}

/** The same width, moved into the limits. */
export function clampSpan({ from, to }: Span, limits: Span): Span {
  const width = Math.min(to - from, limits.to - limits.from);
  const start = Math.min(Math.max(from, limits.from), limits.to - width);
  return { from: start, to: start + width };
}
