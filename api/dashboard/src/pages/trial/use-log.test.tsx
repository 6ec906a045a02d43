// The log of an attempt: its end first, then new output, polled without a stream; missing and failed logs.
import { act, renderHook, waitFor } from "@testing-library/react";
import { useLog } from "./use-log";

type Reply = { text: string; next: number } | number;
let replies: Reply[];
let asked: Record<string, string>[];

function start(first: Reply[], running = true, attempt = 1) {
  replies = first;
  asked = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    asked.push(Object.fromEntries(new URL(request.url).searchParams));
    const reply = replies.length > 1 ? (replies.shift() as Reply) : (replies[0] as Reply);
    if (typeof reply === "number") return Response.json({ detail: "no log" }, { status: reply });
    return new Response(reply.text, { headers: { "Podium-Next-Byte": String(reply.next) } });
  });
  return renderHook(props => useLog(7, props.attempt, props.running), { initialProps: { running, attempt } });
}

beforeEach(() => vi.useFakeTimers({ shouldAdvanceTime: true }));
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("the end of the log is loaded first", async () => {
  const { result } = start([{ text: "last lines\n", next: 500 }]);
  await waitFor(() => expect(result.current.log.status).toBe("there"));
  expect(result.current.log).toMatchObject({ text: "last lines\n", next: 500, earlier: true });
  expect(asked[0]).toEqual({ attempt: "1", tail_bytes: String(256 * 1024) });
});

test("the log of another rank is requested by its number", async () => {
  start([{ text: "rank 1\n", next: 7 }]);
  const { result } = renderHook(() => useLog(7, 1, false, 1));
  await waitFor(() => expect(result.current.log.text).toBe("rank 1\n"));
  expect(asked.at(-1)).toMatchObject({ attempt: "1", rank: "1" });
});

test("a complete log has nothing earlier", async () => {
  const { result } = start([{ text: "ä\n", next: 3 }]);
  await waitFor(() => expect(result.current.log.status).toBe("there"));
  expect(result.current.log.earlier).toBe(false);
});

test("new output is appended from the next byte", async () => {
  const { result } = start([
    { text: "one\n", next: 4 },
    { text: "two\n", next: 8 },
    { text: "", next: 8 },
  ]);
  await waitFor(() => expect(result.current.log.text).toBe("one\n"));
  await act(() => vi.advanceTimersByTimeAsync(3_000));
  await waitFor(() => expect(result.current.log.text).toBe("one\ntwo\n"));
  expect(asked.at(-1)).toMatchObject({ from_byte: expect.stringMatching(/^[48]$/) });
});

test("an attempt that has ended is not polled", async () => {
  const { result } = start(
    [
      { text: "done\n", next: 5 },
      { text: "", next: 5 },
    ],
    false,
  );
  await waitFor(() => expect(result.current.log.status).toBe("there"));
  const before = asked.length;
  await act(() => vi.advanceTimersByTimeAsync(10_000));
  expect(asked).toHaveLength(before);
});

test("an attempt without output is empty", async () => {
  const { result } = start([404]);
  await waitFor(() => expect(result.current.log.status).toBe("empty"));
  expect(result.current.log.error).toBeNull();
});

test("a failed request is reported, and can be retried", async () => {
  const { result } = start([500], false);
  await waitFor(() => expect(result.current.log.status).toBe("failed"));
  expect((result.current.log.error as Error).message).toBe("no log");
  replies = [{ text: "back\n", next: 5 }];
  await act(() => result.current.retry());
  expect(result.current.log).toMatchObject({ status: "there", text: "back\n" });
});

test("more of the log can be loaded", async () => {
  const { result } = start([{ text: "end\n", next: 900 }], false);
  await waitFor(() => expect(result.current.log.earlier).toBe(true));
  replies = [{ text: "x".repeat(900), next: 900 }];
  await act(() => result.current.loadMore());
  expect(asked.at(-1)).toMatchObject({ tail_bytes: String(1024 * 1024) });
  expect(result.current.log.earlier).toBe(false);
});

test("another attempt starts from an empty log", async () => {
  const { result, rerender } = start([{ text: "first\n", next: 6 }], false);
  await waitFor(() => expect(result.current.log.text).toBe("first\n"));
  replies = [{ text: "second\n", next: 7 }];
  rerender({ running: false, attempt: 2 });
  await waitFor(() => expect(result.current.log.text).toBe("second\n"));
  expect(asked.at(-1)?.attempt).toBe("2");
});

test("a trial without attempts requests nothing", () => {
  const { result } = start([404], false, 0);
  expect([result.current.log.status, asked.length]).toEqual(["loading", 0]);
});
