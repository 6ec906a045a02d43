// Ticks are round in the unit of the axis, and their labels have one notation and never repeat.
import { formatTime } from "../format";
import { clockTicks, labelsOf, logTicks, numberTicks, unitTicks, type ValueTick } from "./ticks";

const labels = (found: readonly ValueTick[]) => found.map(({ label }) => label);

test.each([
  [
    [0, 0.5, 1],
    ["0", "0.5", "1.0"],
  ],
  [
    [-0.25, 0, 0.25],
    ["−0.25", "0", "0.25"],
  ],
  [
    [2_000, 4_000],
    ["2,000", "4,000"],
  ],
  [
    [0, 500_000, 1_000_000],
    ["0", "0.5M", "1.0M"],
  ],
  [
    [100_000, 200_000],
    ["100k", "200k"],
  ],
  [
    [0, 2e-5, 4e-5],
    ["0", "2e−5", "4e−5"],
  ],
  [
    [0, 1e20, 2e20],
    ["0", "1e20", "2e20"],
  ],
  [
    [1_234_560, 1_234_565],
    ["1,234,560", "1,234,565"],
  ],
])("%j are labelled %j", (values, expected) => expect(labelsOf(values)).toEqual(expected));

test.each([
  [0, 1, 5],
  [0.93123, 0.93125, 4],
  [-1e-9, 1e-9, 4],
  [0, 1e30, 4],
  [123_456_700, 123_456_789, 6],
  [-5, 105, 8],
])("between %d and %d, labels differ and there are at least two", (low, high, count) => {
  const found = numberTicks(low, high, count);
  expect(found.length).toBeGreaterThanOrEqual(2);
  expect(new Set(labels(found)).size).toBe(found.length);
  for (const { value } of found) expect(value >= low && value <= high).toBe(true);
});

test("ticks of integers are integers", () => {
  expect(labels(numberTicks(1, 3, 8, true))).toEqual(["1", "2", "3"]);
});

test("logarithmic ticks are decades in one notation", () => {
  expect(labels(logTicks(1e-5, 1, 6))).toEqual(["1e−5", "1e−4", "1e−3", "1e−2", "1e−1", "1e0"]);
  expect(labels(logTicks(1e-5, 1, 3))).toEqual(["1e−5", "1e−3", "1e−1"]);
  expect(labels(logTicks(0.01, 100, 6))).toEqual(["0.01", "0.1", "1", "10", "100"]);
  expect(labels(logTicks(0.003, 0.05, 6))).toEqual(["0.005", "0.010", "0.020", "0.050"]);
  expect(logTicks(2, 2.2, 4).length).toBeGreaterThanOrEqual(2);
});

test.each([
  [5, ["0", "2 s", "4 s"]],
  [600, ["0", "5 min", "10 min"]],
  [36_000, ["0", "5 h", "10 h"]],
  [400_000, ["0", "2 d", "4 d"]],
  [0.05, ["0", "20 ms", "40 ms"]],
])("durations up to %d s have one unit", (high, expected) => {
  expect(labels(unitTicks("duration", 0, high, 3)).filter(label => expected.includes(label))).toEqual(expected);
});

test("durations have no negative ticks in the room before zero", () => {
  expect(unitTicks("duration", -30, 600, 10).every(({ value }) => value >= 0)).toBe(true);
});

test.each([
  [800, "MB"],
  [30_000, "GB"],
  [0.5, "kB"],
])("sizes up to %d MB are in %s, round in it", (high, unit) => {
  const found = unitTicks("megabytes", 0, high, 4).slice(1);
  expect(found.length).toBeGreaterThan(1);
  for (const { label } of found) expect(label).toMatch(new RegExp(`^[\\d,.]+ ${unit}$`));
});

test.each([
  [60, 5],
  [3600, 300],
  [86_400, 10_800],
  [7 * 86_400, 43_200],
])("the axis of %d s has times every %d s", (long, step) => {
  const from = Date.parse("2026-11-20T10:00:07Z") / 1000;
  const found = clockTicks(from, from + long, 13);
  expect(found.length).toBeGreaterThan(4);
  expect(found.length).toBeLessThan(15);
  for (let index = 1; index < found.length; index += 1)
    expect((found[index]?.value ?? 0) - (found[index - 1]?.value ?? 0)).toBeCloseTo(step);
});

test("midnight has a date, and parts of a second their decimals", () => {
  const midnight = new Date(2026, 10, 21).getTime() / 1000;
  const day = clockTicks(midnight - 7_200, midnight + 7_200, 5).find(({ isDay }) => isDay);
  expect(day?.label).toBe(formatTime(midnight).slice(0, 10));
  const parts = labels(clockTicks(midnight + 7.05, midnight + 7.55, 6));
  expect(parts).toContain("00:00:07.2");
});
