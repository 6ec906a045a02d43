// Formats numbers, times and sizes for display.

const MISSING = "–";

/** Four significant digits, or an exponent if that is shorter; a dash for missing values. */
export function formatNumber(value: number | null | undefined, digits = 4): string {
  if (value === null || value === undefined || Number.isNaN(value)) return MISSING;
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e7) return minus(grouped(value));
  if (size < 1e-3 || size >= 1e7)
    return minus(
      Number(value.toPrecision(digits - 1))
        .toExponential()
        .replace("e+", "e"),
    );
  return minus(String(Number(value.toPrecision(digits))));
}

/** With a minus sign instead of a hyphen. */
export function minus(text: string): string {
  return text.replace(/^-/, "−").replace(/e-/, "e−");
}

/** 12,345.60: fixed decimals, and commas between thousands. `toLocaleString` is several times slower. */
export function grouped(value: number, decimals = 0): string {
  const [whole = "", fraction] = value.toFixed(decimals).split(".");
  const text = whole.length > 3 ? whole.replace(/\B(?=(?:\d{3})+$)/g, ",") : whole;
  return fraction === undefined ? text : `${text}.${fraction}`;
}

/** 12,345 */
export function formatCount(value: number | null | undefined): string {
  return value === null || value === undefined ? MISSING : grouped(value);
}

/** 97.5 % of a share in 0..1 */
export function formatShare(value: number | null | undefined, digits = 1): string {
  return value === null || value === undefined ? MISSING : `${(value * 100).toFixed(digits)} %`;
}

/** 350 ms, 4.2 s, 3 min 20 s, 5 h 12 min, 3 d 4 h */
export function formatDuration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || Number.isNaN(seconds)) return MISSING;
  if (seconds < 0.9995) return `${Math.max(0, Math.round(seconds * 1000))} ms`;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return pair(Math.floor(whole / 60), "min", whole % 60, "s");
  if (whole < 86_400) return pair(Math.floor(whole / 3600), "h", Math.floor((whole % 3600) / 60), "min");
  return pair(Math.floor(whole / 86_400), "d", Math.floor((whole % 86_400) / 3600), "h");
}

function pair(large: number, unit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${unit}` : `${large} ${unit} ${small} ${smallUnit}`;
}

/** 1.4 ms: a latency given in milliseconds. */
export function formatMs(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return MISSING;
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  return ms < 1000 ? `${Math.round(ms)} ms` : formatDuration(ms / 1000);
}

/** 512 B, 3.4 kB, 12 MB: powers of 1,000. */
export function formatBytes(bytes: number | null | undefined): string {
  if (bytes === null || bytes === undefined) return MISSING;
  let value = bytes;
  for (const unit of ["B", "kB", "MB", "GB"]) {
    if (value < 1000)
      return `${unit === "B" || value >= 100 ? Math.round(value) : Number(value.toPrecision(2))} ${unit}`;
    value /= 1000;
  }
  return `${Number(value.toPrecision(3))} TB`;
}

/** The time since an ISO time: "12 s ago", "3 min ago", "5 d ago". */
export function formatAgo(time: string | null | undefined, now = Date.now()): string {
  if (!time) return MISSING;
  const seconds = Math.max(0, (now - Date.parse(time)) / 1000);
  if (seconds < 5) return "just now";
  if (seconds < 60) return `${Math.floor(seconds)} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86_400)} d ago`;
}

/** 2026-11-21 14:03:22, in the user's time zone. */
export function formatTime(time: string | number | null | undefined): string {
  if (time === null || time === undefined) return MISSING;
  const date = new Date(typeof time === "number" ? time * 1000 : time);
  const two = (value: number) => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** A parameter's value: numbers shortened, other values unchanged. */
export function formatValue(value: unknown): string {
  if (typeof value === "number") return formatNumber(value);
  if (value === null || value === undefined) return MISSING;
  if (typeof value === "boolean") return value ? "true" : "false";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** At most `most` characters, cut in the middle: the ends of names differ more often than their middles. */
export function shortened(text: string, most: number): string {
  if (text.length <= most) return text;
  const start = Math.ceil((most - 1) / 2);
  return `${text.slice(0, start)}…${text.slice(text.length - (most - 1 - start))}`;
}
