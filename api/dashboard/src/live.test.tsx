// The provider: changes are fetched again, pushed data is delivered, and everything is polled without a stream.
import { QueryClient, QueryClientProvider, useQuery } from "@tanstack/react-query";
import { act, render, screen } from "@testing-library/react";
import { useState } from "react";
import { type LivePoints, LiveProvider, useFocus, useLive, useLiveState } from "./live";
import { keys } from "./query-keys";

class FakeSource {
  static latest: FakeSource;
  readyState = 0;
  onopen: (() => void) | null = null;
  onerror: (() => void) | null = null;
  private readonly heard = new Map<string, (event: { data: string; lastEventId: string }) => void>();

  constructor(readonly url: string) {
    FakeSource.latest = this;
  }

  addEventListener(kind: string, hear: (event: { data: string; lastEventId: string }) => void) {
    this.heard.set(kind, hear);
  }

  say(kind: string, data: unknown, id = "") {
    act(() => this.heard.get(kind)?.({ data: JSON.stringify(data), lastEventId: id }));
  }

  close() {
    this.readyState = 2;
  }
}

let fetched = 0;

function Page() {
  useFocus({ sweep: 3 });
  const state = useLiveState();
  const [points, setPoints] = useState("none");
  useLive<LivePoints>("metrics", data => setPoints(JSON.stringify(data.points)));
  const { data } = useQuery({ queryKey: keys.sweep(3, "table"), queryFn: async () => (fetched += 1) });
  return (
    <p>
      {state} {data} {points}
    </p>
  );
}

const wait = (ms: number) => act(() => vi.advanceTimersByTimeAsync(ms));

beforeEach(() => {
  fetched = 0;
  vi.useFakeTimers();
  vi.stubGlobal("EventSource", FakeSource);
  render(
    <QueryClientProvider client={new QueryClient()}>
      <LiveProvider>
        <Page />
      </LiveProvider>
    </QueryClientProvider>,
  );
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("a live page fetches changes again and receives pushed data", async () => {
  await wait(200);
  expect(FakeSource.latest.url).toBe("/api/v1/events?sweep=3");
  act(() => FakeSource.latest.onopen?.());
  expect(screen.getByText(/^live 1/)).toBeVisible();
  const changes = { sweeps: [3], trials: {}, devices: false, ensembles: [], evaluations: [], kinds: [] };
  FakeSource.latest.say("changes", { ...changes, sweeps: [4] }, "7");
  await wait(1_500);
  expect(fetched).toBe(1);
  FakeSource.latest.say("changes", changes, "8");
  await wait(1_500);
  expect(fetched).toBe(2);
  FakeSource.latest.say("metrics", { points: { "1": { loss: [2, 0.5] } } });
  expect(screen.getByText(/"loss":\[2,0.5\]/)).toBeVisible();
  FakeSource.latest.say("reset", {});
  await wait(1_500);
  expect(fetched).toBe(3);
  await wait(60_000);
  expect(fetched).toBe(3);
});

test("queries are polled every few seconds while there is no stream", async () => {
  await wait(200);
  act(() => FakeSource.latest.onerror?.());
  expect(screen.getByText(/^reconnecting/)).toBeVisible();
  await wait(11_000);
  expect(fetched).toBe(3);
  act(() => FakeSource.latest.onopen?.());
  await wait(11_000);
  expect(screen.getByText(/^live/)).toBeVisible();
  expect(fetched).toBe(3);
});
