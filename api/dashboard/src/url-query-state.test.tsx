// View state in the URL: read, replaced in place, and removed when it is the default.
import { act, renderHook } from "@testing-library/react";
import { setQuery, useQueryState, withQuery } from "./url-query-state";

beforeEach(() => window.history.replaceState(null, "", "/sweeps/3/table?filter=lr"));

test("a key that is not in the query has its default", () => {
  const { result } = renderHook(() => useQueryState("sort", "-value"));
  expect(result.current[0]).toBe("-value");
});

test("setting a key keeps the others and the path", () => {
  const { result } = renderHook(() => useQueryState("sort", "-value"));
  act(() => result.current[1]("number"));
  expect(result.current[0]).toBe("number");
  expect(window.location.pathname).toBe("/sweeps/3/table");
  expect(Object.fromEntries(new URLSearchParams(window.location.search))).toEqual({ filter: "lr", sort: "number" });
});

test("setting the default removes the key", () => {
  const { result } = renderHook(() => useQueryState("filter", "all"));
  act(() => result.current[1]("all"));
  expect(window.location.search).toBe("");
  expect(result.current[0]).toBe("all");
});

test("several keys change in one history entry", () => {
  const before = window.history.length;
  act(() => setQuery({ from: "1", to: "2", filter: "" }));
  expect(window.location.search).toBe("?from=1&to=2");
  expect(window.history.length).toBe(before);
});

test("values are escaped, so that a filter cannot add keys", () => {
  act(() => setQuery({ filter: "tag:a&sort=id" }));
  expect(new URLSearchParams(window.location.search).get("filter")).toBe("tag:a&sort=id");
  expect(new URLSearchParams(window.location.search).has("sort")).toBe(false);
});

test("a path without query has no question mark", () => {
  expect(withQuery("/devices", new URLSearchParams())).toBe("/devices");
  expect(withQuery("/devices", new URLSearchParams({ range: "7d" }))).toBe("/devices?range=7d");
});
