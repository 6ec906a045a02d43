// A service that does not answer: the banner with the time of the last response, and disabled commands.
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, render, screen } from "@testing-library/react";
import { ApiError } from "./api";
import { ConnectionBanner, ConnectionProvider } from "./connection-status";
import { keys } from "./query-keys";
import type { StreamState } from "./stream";
import { useSession } from "./use-session";
import { Button } from "./widgets/button";

let queries: QueryClient;
let status = 200;

function Page({ stream }: { stream: StreamState }) {
  return (
    <QueryClientProvider client={queries}>
      <ConnectionProvider stream={stream}>
        <ConnectionBanner />
        <Session />
        <Button command>Stop</Button>
        <Button>Zoom in</Button>
      </ConnectionProvider>
    </QueryClientProvider>
  );
}

function Session() {
  return <p>{useSession()?.name}</p>;
}

const wait = (ms: number) => act(() => vi.advanceTimersByTimeAsync(ms));

beforeEach(() => {
  status = 200;
  vi.useFakeTimers({ now: Date.UTC(2026, 10, 25, 12) });
  queries = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  vi.stubGlobal("fetch", async () => {
    if (status === 0) throw new TypeError("refused");
    return Response.json(status === 200 ? { name: "ann", role: "admin" } : { detail: "no" }, { status });
  });
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test.each([0, 502, 503])(
  "a lost service (%i) is announced with the time until which the page was current",
  async at => {
    const { rerender } = render(<Page stream="live" />);
    await wait(60_000);
    status = at;
    rerender(<Page stream="reconnecting" />);
    await wait(3_000);
    const time = new Date(Date.UTC(2026, 10, 25, 12, 1));
    const clock = [time.getHours(), time.getMinutes(), time.getSeconds()].map(part => String(part).padStart(2, "0"));
    expect(screen.getByRole("alert")).toHaveTextContent(`not responding. This page shows the state of`);
    expect(screen.getByRole("alert")).toHaveTextContent(clock.join(":"));
    expect(screen.getByText("Stop")).toBeDisabled();
    expect(screen.getByText("Stop")).toHaveAttribute("title", "The service is not responding");
    expect(screen.getByText("Zoom in")).toBeEnabled();
    expect(screen.getByText("ann")).toBeVisible();

    status = 200;
    await act(() => queries.refetchQueries({ queryKey: keys.session }));
    expect(screen.queryByRole("alert")).toBeNull();
    expect(screen.getByText("Stop")).toBeEnabled();
  },
);

test("a stream that is refused while requests succeed is no loss of the service", async () => {
  const { rerender } = render(<Page stream="live" />);
  await wait(100);
  rerender(<Page stream="reconnecting" />);
  await wait(3_000);
  expect(screen.queryByRole("alert")).toBeNull();
});

test("an error of the service itself is an answer", async () => {
  const { rerender } = render(<Page stream="live" />);
  await wait(100);
  status = 0;
  rerender(<Page stream="reconnecting" />);
  await wait(100);
  expect(screen.getByRole("alert")).toBeVisible();
  const refused = queries.fetchQuery({
    queryKey: ["other"],
    queryFn: () => Promise.reject(new ApiError(404, "not found")),
  });
  await act(() => refused.catch(() => undefined));
  expect(screen.queryByRole("alert")).toBeNull();
  status = 0;
  await act(() => queries.refetchQueries({ queryKey: keys.session }));
  expect(screen.getByRole("alert")).toBeVisible();
  rerender(<Page stream="live" />);
  expect(screen.queryByRole("alert")).toBeNull();
});
