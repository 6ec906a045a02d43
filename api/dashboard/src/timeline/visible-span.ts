// The visible time span: zoom, pan, and axis ticks.

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

const STEPS_S = [
  0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800,
  604_800, 2_592_000,
];

export type Tick = { at: number; label: string; day: boolean };

/** Ticks at round local times, at most about one every `apart` pixels. */
export function ticks({ from, to }: Span, width: number, apart = 90): Tick[] {
  if (to <= from || width <= 0) return [];
  const least = ((to - from) / width) * apart;
  const step = STEPS_S.find(each => each >= least) ?? STEPS_S.at(-1) ?? 1;
  const zone = new Date(from * 1000).getTimezoneOffset() * 60;
  const marks: Tick[] = [];
  for (let at = Math.ceil((from - zone) / step) * step + zone; at <= to; at += step) marks.push(tick(at, step, zone));
  return marks;
}

function tick(at: number, step: number, zone: number): Tick {
  const date = new Date(Math.round(at * 1000));
  const day = Math.abs((at - zone) % 86_400) < 1e-3;
  if (day) return { at, label: `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`, day };
  const minutes = `${two(date.getHours())}:${two(date.getMinutes())}`;
  if (step >= 60) return { at, label: minutes, day };
  const seconds = step < 1 ? (date.getSeconds() + date.getMilliseconds() / 1000).toFixed(1) : date.getSeconds();
  return { at, label: `${minutes}:${String(seconds).padStart(step < 1 ? 4 : 2, "0")}`, day };
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}
