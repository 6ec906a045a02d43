// Windows of the trial table: fetched as they come into view, kept while the next ones load.
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { renderHook, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { fetchIds } from "./range-selection";
import { useTable } from "./use-table-windows";

let asked: URLSearchParams[];
let failing = false;

function start() {
  asked = [];
  failing = false;
  vi.stubGlobal("fetch", async (request: Request) => {
    const query = new URL(request.url).searchParams;
    asked.push(query);
    if (failing) return Response.json({ detail: "busy" }, { status: 503 });
    const [offset, limit] = [Number(query.get("offset")), Number(query.get("limit"))];
    const numbers = Array.from({ length: Math.min(limit, 250 - offset) }, (_, row) => offset + row);
    const columns = { id: numbers.map(n => n + 1_000), number: numbers, state: numbers.map(() => "finished") };
    return Response.json({ total: 300, matching: 250, columns });
  });
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  const wrapper = ({ children }: { children: ReactNode }) => (
    <QueryClientProvider client={client}>{children}</QueryClientProvider>
  );
  return renderHook(({ filter, first, last }) => useTable(3, { filter: filter, sort: "number" }, first, last), {
    wrapper,
    initialProps: { filter: "lr<1", first: 0, last: 20 },
  });
}

afterEach(() => vi.unstubAllGlobals());

test("only the windows in view are fetched", async () => {
  const { result, rerender } = start();
  await waitFor(() => expect(result.current.trials?.matching).toBe(250));
  expect(asked.map(query => query.get("offset"))).toEqual(["0"]);
  rerender({ filter: "lr<1", first: 90, last: 110 });
  await waitFor(() => expect(result.current.trials?.row(105)?.id).toBe(1_105));
  expect(asked.map(query => query.get("offset"))).toEqual(["0", "100"]);
  const row = result.current.trials?.row(99);
  rerender({ filter: "lr<1", first: 91, last: 111 });
  expect(result.current.trials?.row(99)).toBe(row);
  expect(result.current.trials?.row(240)).toBeUndefined();
});

test("a cell of a column that the window leaves out is null", async () => {
  const { result } = start();
  await waitFor(() => expect(result.current.trials?.row(3)?.cell("state")).toBe("finished"));
  expect(result.current.trials?.row(3)?.cell("error")).toBeNull();
});

test("the previous rows stay, marked as stale, while another filter loads", async () => {
  const { result, rerender } = start();
  await waitFor(() => expect(result.current.trials).not.toBeNull());
  rerender({ filter: "lr<2", first: 0, last: 20 });
  expect(result.current.trials).toMatchObject({ matching: 250, stale: true });
  await waitFor(() => expect(result.current.trials?.stale).toBe(false));
});

test("an error is returned, and a retry clears it", async () => {
  const { result, rerender } = start();
  await waitFor(() => expect(result.current.trials).not.toBeNull());
  failing = true;
  rerender({ filter: "lr<3", first: 0, last: 20 });
  await waitFor(() => expect(result.current.error?.message).toBe("busy"));
  failing = false;
  result.current.retry();
  await waitFor(() => expect(result.current.error).toBeNull());
});

test("the ids of a range are fetched in the order of the table", async () => {
  start();
  const ids = await fetchIds({ sweepId: 3, filter: "", sort: "-value" }, 40, 3);
  expect(ids).toEqual([1_040, 1_041, 1_042]);
  expect(Object.fromEntries(asked.at(-1) ?? [])).toEqual({ sort: "-value", offset: "40", limit: "3" });
});

test("with many columns of metrics a request has fewer rows", async () => {
  start();
  const figures = Array.from({ length: 60 }, (_, at) => `last(m${at})`);
  const client = new QueryClient();
  const wrapper = ({ children }: { children: ReactNode }) => (
    <QueryClientProvider client={client}>{children}</QueryClientProvider>
  );
  asked.length = 0;
  const { result } = renderHook(() => useTable(3, { filter: "", sort: "number", figures }, 20, 40), { wrapper });
  await waitFor(() => expect(result.current.trials?.row(40)?.number).toBe(40));
  expect(asked.map(query => [query.get("offset"), query.get("limit")])).toEqual([
    ["0", "25"],
    ["25", "25"],
  ]);
  expect(asked[0]?.getAll("metrics")).toEqual(figures);
});
