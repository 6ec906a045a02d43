// Numbers, times and sizes as people read them.
import { formatBytes, formatDuration, formatMs, formatNumber, formatShare } from "./format";

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
