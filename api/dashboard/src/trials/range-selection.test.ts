import { afterEach, expect, test, vi } from "vitest";
import { fetchIds, rangeOf } from "./range-selection";

afterEach(() => vi.unstubAllGlobals());

test("a range works in both directions and is truncated at its far end", () => {
  expect(rangeOf(10, 12, 500)).toEqual({ offset: 10, limit: 3, cut: false });
  expect(rangeOf(12, 10, 500)).toEqual({ offset: 10, limit: 3, cut: false });
  expect(rangeOf(10, 900, 500)).toEqual({ offset: 10, limit: 500, cut: true });
  expect(rangeOf(900, 10, 500)).toEqual({ offset: 401, limit: 500, cut: true });
});

test("rows never in view are requested in the order of the table", async () => {
  const asked: string[] = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    asked.push(new URL(request.url).search);
    return Response.json({ total: 900, matching: 900, next: null, found: null, columns: { id: [7, 3] } });
  });
  expect(await fetchIds({ sweepId: 1, filter: "lr<1", sort: "-value" }, 250, 2)).toEqual([7, 3]);
  const query = new URLSearchParams(asked[0]);
  expect(Object.fromEntries(query)).toEqual({ filter: "lr<1", sort: "-value", offset: "250", limit: "2" });
});
