// Zoom and pan stay within the limits.
import { clampSpan, panned, SHORTEST_S, zoomed } from "./visible-span";

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
