// The measures of usage: names, units, and values as strings. Pure.
import { formatNumber, grouped } from "../format";
import type { Samples } from "./queries";

type Key = Exclude<keyof Samples, "at" | "span_s">;
export type Line = { key: Key; name: string };
export type Measure = {
  key: string;
  name: string;
  unit: string;
  lines: readonly Line[];
  limit?: "memory_limit_mb" | "gpu_memory_limit_mb";
};

/** The charts of a trial, in order; those without values are not shown. */
export const MEASURES: readonly Measure[] = [
  {
    key: "memory",
    name: "Memory",
    unit: "MB",
    lines: [{ key: "memory_mb", name: "memory" }],
    limit: "memory_limit_mb",
  },
  { key: "cpu", name: "Processor", unit: "cores", lines: [{ key: "cpu_cores", name: "cores" }] },
  { key: "gpu", name: "GPU utilization", unit: "%", lines: [{ key: "gpu_percent", name: "utilization" }] },
  {
    key: "gpu_memory",
    name: "GPU memory",
    unit: "MB",
    lines: [{ key: "gpu_memory_mb", name: "memory" }],
    limit: "gpu_memory_limit_mb",
  },
  {
    key: "storage",
    name: "Storage",
    unit: "MB/s",
    lines: [
      { key: "read_mb_s", name: "read" },
      { key: "written_mb_s", name: "written" },
    ],
  },
];

export type Point = [number, number]; // seconds since the start, value

/** The points of a line, without samples that have no value. */
export function pointsOf(samples: Samples, key: Key): Point[] {
  const start = (samples.at[0] ?? 0) - (samples.span_s[0] ?? 0);
  const points: Point[] = [];
  samples.at.forEach((at, index) => {
    const value = samples[key][index];
    if (typeof value === "number") points.push([at - start, value]);
  });
  return points;
}

/** 1.2 cores, 512 MB, 3.4 GB. */
export function formatMeasure(value: number | null | undefined, unit: string): string {
  if (value === null || value === undefined) return "–";
  if (unit !== "MB") return `${formatNumber(value, 3)} ${unit}`;
  return formatMegabytes(value);
}

/** A size in MB of 2^20 bytes, as in `limits.memory_mb`. */
export function formatMegabytes(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  if (value >= 10_240) return `${(value / 1024).toFixed(1)} GB`;
  return `${value < 10 ? value.toFixed(1) : grouped(Math.round(value))} MB`;
}

/** The summary of a chart as a sentence. */
export function describeMeasure(measure: Measure, lines: readonly Point[][], limit: number | null): string {
  const parts = measure.lines.flatMap((line, index) => {
    const values = (lines[index] ?? []).map(([, value]) => value);
    if (values.length === 0) return [];
    const highest = formatMeasure(Math.max(...values), measure.unit);
    return [`${line.name} at most ${highest}, last ${formatMeasure(values.at(-1), measure.unit)}`];
  });
  const bound = limit === null ? "" : `; the limit is ${formatMeasure(limit, measure.unit)}`;
  return `${measure.name}: ${parts.join("; ") || "no samples"}${bound}`;
}
