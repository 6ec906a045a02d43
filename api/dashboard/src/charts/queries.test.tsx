// The data of charts: brushes are separated from the filter, and changes are fetched with limited frequency.
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, renderHook, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { LiveProvider } from "../live";
import { axisView, pointsOf } from "./fixture";
import { useChartPoints, useImportance } from "./queries";

const POINTS = pointsOf({ value: [1, 2], "params.lr": [0.1, 0.2] }, { axes: [axisView("lr")] });

class FakeSource {
  static latest: FakeSource;
  readyState = 1;
  onopen: (() => void) | null = null;
  onerror: (() => void) | null = null;
  private readonly handlers = new Map<string, (event: { data: string; lastEventId: string }) => void>();
  constructor() {
    FakeSource.latest = this;
  }
  addEventListener(kind: string, handler: (event: { data: string; lastEventId: string }) => void) {
    this.handlers.set(kind, handler);
  }
  send(kind: string, data: unknown) {
    act(() => this.handlers.get(kind)?.({ data: JSON.stringify(data), lastEventId: "1" }));
  }
  close() {}
}

let asked: URL[];

function start<T>(hook: () => T, importance: object = {}) {
  asked = [];
  vi.stubGlobal("EventSource", FakeSource);
  vi.stubGlobal("fetch", async (request: Request) => {
    const url = new URL(request.url);
    asked.push(url);
    return Response.json(url.pathname.endsWith("/importance") ? importance : POINTS);
  });
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  const wrapper = ({ children }: { children: ReactNode }) => (
    <QueryClientProvider client={client}>
      <LiveProvider>{children}</LiveProvider>
    </QueryClientProvider>
  );
  return renderHook(hook, { wrapper });
}

const filters = () =>
  asked.filter(url => url.searchParams.get("part") === "trials").map(url => url.searchParams.get("filter"));
const changes = (sweep: number) => ({
  ...{ sweeps: [], trials: { [sweep]: [1] }, devices: false, ensembles: [], evaluations: [], kinds: [] },
});

beforeEach(() => vi.useFakeTimers({ shouldAdvanceTime: true }));
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("brushes are read from the filter and not sent to the service", async () => {
  const { result } = start(() => useChartPoints(3, "state:finished lr:0.1..0.15"));
  await waitFor(() => expect(Object.keys(result.current.brushes)).toEqual(["params.lr"]));
  expect(result.current.base).toBe("state:finished");
  expect(new Set(filters())).toEqual(new Set(["state:finished"]));
  expect(result.current.outcomes.map(axis => axis.key)).toEqual(["value", "running_s"]);
});

test("many changes are one request", async () => {
  const { result } = start(() => useChartPoints(3, ""));
  await waitFor(() => expect(result.current.query.data).toBeDefined());
  await act(() => vi.advanceTimersByTimeAsync(300));
  const before = filters().length;
  for (let turn = 0; turn < 5; turn += 1) FakeSource.latest.send("changes", changes(3));
  await act(() => vi.advanceTimersByTimeAsync(1_600));
  await waitFor(() => expect(filters()).toHaveLength(before + 1));
});

test("changes of other sweeps are ignored", async () => {
  const { result } = start(() => useChartPoints(3, ""));
  await waitFor(() => expect(result.current.query.data).toBeDefined());
  await act(() => vi.advanceTimersByTimeAsync(300));
  act(() => FakeSource.latest.onopen?.());
  const before = filters().length;
  FakeSource.latest.send("changes", changes(4));
  await act(() => vi.advanceTimersByTimeAsync(3_000));
  expect(filters()).toHaveLength(before);
});

test("importance is polled while it is computed", async () => {
  const { result } = start(() => useImportance(3, "loss"), { state: "computing", importances: null });
  await waitFor(() => expect(result.current.data).toBeDefined());
  const before = asked.length;
  await act(() => vi.advanceTimersByTimeAsync(2_100));
  await waitFor(() => expect(asked.length).toBeGreaterThan(before));
  expect(asked.at(-1)?.searchParams.get("metric")).toBe("loss");
});

test("without a metric importance is not requested", async () => {
  start(() => useImportance(3, ""));
  await act(() => vi.advanceTimersByTimeAsync(1_000));
  expect(asked.filter(url => url.pathname.endsWith("/importance"))).toEqual([]);
});
