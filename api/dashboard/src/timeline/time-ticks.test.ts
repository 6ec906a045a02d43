// The time axis has round times.
import { ticks } from "./time-ticks";

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
