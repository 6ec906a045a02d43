// The invalidation queue: what is fetched again, and how often.
import { QueryClient } from "@tanstack/react-query";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Changes, staleKeys } from "./live";
import { InvalidationQueue } from "./throttled-refetch";

let queries: QueryClient;
let stale: InvalidationQueue;
let fetching = 0;
let asked: unknown[] = [];

beforeEach(() => {
  vi.useFakeTimers();
  queries = new QueryClient();
  fetching = 0;
  asked = [];
  vi.spyOn(queries, "isFetching").mockImplementation(() => fetching);
  vi.spyOn(queries, "invalidateQueries").mockImplementation(async filters => {
    asked.push(filters?.queryKey);
  });
  stale = new InvalidationQueue(queries, () => Date.now());
});

afterEach(() => {
  stale.close();
  vi.useRealTimers();
});

test("the first change is fetched immediately, further ones once a second", () => {
  stale.add([["sweep", 1]]);
  vi.advanceTimersByTime(0);
  expect(asked).toEqual([["sweep", 1]]);
  for (let turn = 0; turn < 8; turn += 1) {
    stale.add([["sweep", 1], ["sweeps"]]);
    vi.advanceTimersByTime(125);
  }
  expect(asked).toEqual([["sweep", 1], ["sweep", 1], ["sweeps"]]);
  vi.advanceTimersByTime(5_000);
  expect(asked).toHaveLength(3);
});

test("a request in flight is awaited before the query is fetched again", () => {
  fetching = 1;
  stale.add([["sweep", 1]]);
  vi.advanceTimersByTime(2_500);
  expect(asked).toEqual([]);
  fetching = 0;
  vi.advanceTimersByTime(1_000);
  expect(asked).toEqual([["sweep", 1]]);
  fetching = 1;
  stale.add([["sweep", 2]]);
  vi.advanceTimersByTime(15_000);
  expect(asked).toEqual([
    ["sweep", 1],
    ["sweep", 2],
  ]);
});

test("a message is converted to prefixes of query keys", () => {
  const changes: Changes = {
    sweeps: [3],
    trials: { "3": [7, 8] },
    devices: true,
    ensembles: [1],
    evaluations: [2],
    kinds: [],
  };
  expect(staleKeys(changes)).toEqual([
    ["sweeps"],
    ["sweep", 3],
    ["trial", 7],
    ["trial", 8],
    ["devices"],
    ["ensembles"],
    ["ensemble", 1],
    ["ensemble", 2],
  ]);
  const nothing = { ...changes, sweeps: [], trials: {}, devices: false, ensembles: [], evaluations: [] };
  expect(staleKeys(nothing)).toEqual([]);
});
