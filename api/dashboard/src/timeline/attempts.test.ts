// Attempts by trial: rows, the time in the queue, what is in view, and the nearest one.
import {
  attemptsIn,
  attemptsOf,
  describe as described,
  endOf,
  leftQueue,
  nearestAttempt,
  rowCount,
  spanOf,
} from "./attempts";
import { timelineFixture } from "./fixture";

const VIEW = timelineFixture([
  { number: 0, attempt: 1, state: "failed", cause: "node_lost", queued: 0, start: 1, end: 5 },
  { number: 0, attempt: 2, state: "finished", queued: 5, start: 9, end: 20 },
  { number: 3, attempt: 1, state: "running", queued: 2, start: 6 },
  { number: 4, attempt: 0, state: "waiting", queued: 8 },
]);
const ATTEMPTS = attemptsOf(VIEW);
const NOW = VIEW.from_s + 30;

test("attempts of a trial share a row", () => {
  expect(ATTEMPTS.map(({ row, number, attempt }) => [row, number, attempt])).toEqual([
    [0, 0, 1],
    [0, 0, 2],
    [1, 3, 1],
    [2, 4, 0],
  ]);
  expect(rowCount(ATTEMPTS)).toBe(3);
  expect(rowCount([])).toBe(0);
});

test("what has not started waits until now, and what runs ends now", () => {
  const ends = ATTEMPTS.map(each => [leftQueue(each, NOW) - VIEW.from_s, endOf(each, NOW) - VIEW.from_s]);
  expect(ends).toEqual([
    [1, 5],
    [9, 20],
    [6, 30],
    [30, 30],
  ]);
});

test("rows are found by number, and the range of time covers them with room", () => {
  expect(attemptsIn(ATTEMPTS, 1, 2).map(({ number }) => number)).toEqual([3]);
  expect(attemptsIn(ATTEMPTS, 0, 9)).toHaveLength(4);
  const { from, to } = spanOf(attemptsIn(ATTEMPTS, 0, 1), NOW);
  expect(from).toBeLessThan(VIEW.from_s);
  expect(to).toBeGreaterThan(VIEW.from_s + 20);
  expect(to).toBeLessThan(VIEW.from_s + 21);
});

test("the nearest attempt is in the rows under the pointer", () => {
  const at = (row: number, seconds: number) =>
    nearestAttempt(ATTEMPTS, { first: row, last: row + 1 }, VIEW.from_s + seconds, NOW);
  expect([at(0, 2), at(0, 12), at(1, -5), at(7, 0)]).toEqual([0, 1, 2, -1]);
});

test("an attempt is described with its device, its cause and its times", () => {
  const [lost, again, running, waiting] = ATTEMPTS.map(each => described(each, NOW));
  expect(lost?.title).toBe("Trial 0: failed (node lost)");
  expect(again?.title).toBe("Trial 0, attempt 2: finished");
  expect(again?.details).toMatch(/^on gpu-0, queued for 4.0 s, ran for 11 s, from \d{4}-/);
  expect(running?.details).toContain("running for 24 s");
  expect(waiting?.details).toMatch(/^queued for 22 s, not started, from /);
});
