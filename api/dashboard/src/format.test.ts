// Human-readable numbers, times and sizes.
import {
  formatAgo,
  formatBytes,
  formatCount,
  formatDuration,
  formatMs,
  formatNumber,
  formatShare,
  formatTime,
  formatValue,
  grouped,
  shortened,
} from "./format";

test.each([
  [0.97312345, "0.9731"],
  [1e-4, "1e−4"],
  [0.00012345, "1.23e−4"],
  [-0.25, "−0.25"],
  [12345, "12,345"],
  [3.2e9, "3.2e9"],
  [0, "0"],
  [null, "–"],
  [Number.POSITIVE_INFINITY, "∞"],
])("the number %s is %s", (value, text) => expect(formatNumber(value)).toBe(text));

test.each([
  [0.0132, "13 ms"],
  [4.24, "4.2 s"],
  [9.97, "10 s"],
  [200, "3 min 20 s"],
  [18720, "5 h 12 min"],
  [273600, "3 d 4 h"],
])("%s seconds are %s", (seconds, text) => expect(formatDuration(seconds)).toBe(text));

test("shares, latencies and sizes have their units", () => {
  expect(formatShare(0.9751)).toBe("97.5 %");
  expect(formatMs(1.44)).toBe("1.4 ms");
  expect(formatBytes(3_400)).toBe("3.4 kB");
});

test("infinities and very small numbers keep their sign", () => {
  expect(formatNumber(Number.NEGATIVE_INFINITY)).toBe("−∞");
  expect(formatNumber(-1.5e-7)).toBe("−1.5e−7");
  expect(formatNumber(Number.NaN)).toBe("–");
});

test("a number has the requested digits, without trailing zeros", () => {
  expect(formatNumber(0.123456, 2)).toBe("0.12");
  expect(formatNumber(1.5, 5)).toBe("1.5");
});

test("missing values are a dash in every format", () => {
  for (const format of [formatCount, formatShare, formatDuration, formatMs, formatBytes, formatAgo, formatTime]) {
    expect(format(null)).toBe("–");
    expect(format(undefined)).toBe("–");
  }
  expect(formatDuration(Number.NaN)).toBe("–");
});

test.each([
  [0, "0 ms"],
  [-0.2, "0 ms"],
  [59.6, "1 min"],
  [3600, "1 h"],
  [86_400, "1 d"],
])("%s seconds round to %s", (seconds, text) => expect(formatDuration(seconds)).toBe(text));

test.each([
  [0.04, "0.0 ms"],
  [15.6, "16 ms"],
  [2_500, "2.5 s"],
])("a latency of %s ms is %s", (ms, text) => expect(formatMs(ms)).toBe(text));

test.each([
  [999, "999 B"],
  [1_000, "1 kB"],
  [123_456, "123 kB"],
  [7_200_000_000_000, "7.2 TB"],
])("%s bytes are %s", (bytes, text) => expect(formatBytes(bytes)).toBe(text));

test.each([
  [2_000, "just now"],
  [59_000, "59 s ago"],
  [61_000, "1 min ago"],
  [7_200_000, "2 h ago"],
  [172_800_000, "2 d ago"],
  [-60_000, "just now"],
])("%s ms before now is %s", (ms, text) => {
  const now = Date.parse("2026-01-10T00:00:00Z");
  expect(formatAgo(new Date(now - ms).toISOString(), now)).toBe(text);
});

test("a time is the same from seconds and from ISO text", () => {
  expect(formatTime(1_767_323_045)).toBe(formatTime(new Date(1_767_323_045_000).toISOString()));
  expect(formatTime(1_767_323_045)).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
});

test.each([
  [true, "true"],
  [null, "–"],
  ["adam", "adam"],
  [0.25, "0.25"],
  [[1, "a"], '[1,"a"]'],
])("the value %j is %s", (value, text) => expect(formatValue(value)).toBe(text));

test("a long text is cut in the middle", () => {
  expect(shortened("encoder.layers.11.dropout", 13)).toBe("encode…ropout");
  expect(shortened("momentum", 13)).toBe("momentum");
});

test.each([
  [7, 0, "7"],
  [1_234, 0, "1,234"],
  [1_234_567.891, 2, "1,234,567.89"],
  [-12_345, 0, "-12,345"],
  [0.5, 3, "0.500"],
])("%s with %s decimals is %s", (value, decimals, text) => {
  expect(grouped(value, decimals)).toBe(text);
  const options = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  expect(value.toLocaleString("en-US", options)).toBe(text);
});
