// The ticks of the time axis, at round local times.
import type { Span } from "./visible-span";

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
