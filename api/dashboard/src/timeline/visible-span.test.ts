// Zoom and pan stay within the limits; the axis has round times.

import { spanOf } from "./view-state";
import { clampSpan, panned, SHORTEST_S, ticks, zoomed } from "./visible-span";

const LIMITS = { from: 0, to: 1000 };

test("zoom keeps the time under the pointer in place", () => {
  expect(zoomed({ from: 100, to: 200 }, 0.5, 125, LIMITS)).toEqual({ from: 112.5, to: 162.5 });
});

test("zoom stops at the limits and at the shortest span", () => {
  expect(zoomed({ from: 100, to: 900 }, 4, 500, LIMITS)).toEqual(LIMITS);
  const close = zoomed({ from: 100, to: 101 }, 0.001, 100.5, LIMITS);
  expect(close.to - close.from).toBeCloseTo(SHORTEST_S);
});

test("pan moves by a share and stops at the end", () => {
  expect(panned({ from: 100, to: 200 }, 0.5, LIMITS)).toEqual({ from: 150, to: 250 });
  expect(panned({ from: 900, to: 980 }, 0.5, LIMITS)).toEqual({ from: 920, to: 1000 });
  expect(clampSpan({ from: -50, to: 50 }, LIMITS)).toEqual({ from: 0, to: 100 });
});

test.each([
  [60, 5],
  [3600, 300],
  [86_400, 7200],
  [7 * 86_400, 86_400],
])("the axis of %d s has marks every %d s", (long, step) => {
  const from = Date.parse("2026-11-20T10:00:07Z") / 1000;
  const marks = ticks({ from, to: from + long }, 1200);
  expect(marks.length).toBeGreaterThan(4);
  expect(marks.length).toBeLessThan(14);
  for (let index = 1; index < marks.length; index += 1)
    expect((marks[index]?.at ?? 0) - (marks[index - 1]?.at ?? 0)).toBeCloseTo(step);
});

test("the axis of half a second has labels with tenths", () => {
  const from = Date.parse("2026-11-20T10:00:07Z") / 1000;
  expect(ticks({ from, to: from + 0.5 }, 600).map(mark => mark.label)).toContain(
    `${ticks({ from, to: from + 0.5 }, 600)[0]?.label.slice(0, 6)}07.2`,
  );
});

test("invalid values in the URL are not a span", () => {
  expect(spanOf("100", "200.5")).toEqual({ from: 100, to: 200.5 });
  for (const [from, to] of [
    ["", ""],
    ["5", "5"],
    ["9", "5"],
    ["x", "5"],
    ["5", "<img>"],
    ["-1", "5"],
  ] as const)
    expect(spanOf(from, to)).toBeNull();
});
