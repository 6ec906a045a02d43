// The log of one attempt, or of one of its ranks, as it grows: its end first, then new output, announced by the live stream or polled.
import { useCallback, useEffect, useRef, useState } from "react";
import { ApiError, api, errorFrom } from "../../api";
import { type LiveLog, useLive, useLiveState } from "../../live";
import { shownEnd } from "./log-text";

const TAIL_BYTES = 256 * 1024;
export const MORE_TAIL_BYTES = 1024 * 1024; // the maximum length of a response
const POLL_MS = 3_000;

export type LogState = {
  text: string;
  next: number; // the next byte to read
  earlier: boolean; // there is earlier output
  status: "loading" | "there" | "empty" | "failed";
  error: unknown;
};
type Part = { text: string; next: number };

const EMPTY_LOG: LogState = { text: "", next: 0, earlier: false, status: "loading", error: null };

async function part(
  trialId: number,
  attempt: number,
  rank: number,
  query: { tail_bytes?: number; from_byte?: number },
): Promise<Part> {
  const { data, error, response } = await api.GET("/api/v1/trials/{trial_id}/log", {
    params: { path: { trial_id: trialId }, query: { attempt, ...(rank > 0 && { rank }), ...query } },
    parseAs: "text",
  });
  if (!response.ok) throw errorFrom(response.status, readable(error));
  return { text: data ?? "", next: Number(response.headers.get("Podium-Next-Byte")) };
}

function readable(error: unknown): unknown {
  if (typeof error !== "string") return error;
  try {
    return JSON.parse(error);
  } catch {
    return {};
  }
}

export function useLog(trialId: number, attempt: number, running: boolean, rank = 0) {
  const [log, setLog] = useState<LogState>(EMPTY_LOG);
  const shown = useRef({ trialId, attempt, rank, next: 0, busy: false, again: false, loaded: false });
  const live = useLiveState();

  const load = useCallback(
    async (tailBytes: number) => {
      const mine = { trialId, attempt, rank, next: 0, busy: true, again: false, loaded: false };
      shown.current = mine;
      try {
        const { text, next } = await part(trialId, attempt, rank, { tail_bytes: tailBytes });
        if (shown.current !== mine) return;
        mine.next = next;
        mine.loaded = true;
        const earlier = new TextEncoder().encode(text).length < next;
        setLog({ text, next, earlier, status: next > 0 ? "there" : "empty", error: null });
      } catch (error) {
        if (shown.current !== mine) return;
        const silent = error instanceof ApiError && error.status === 404;
        mine.loaded = silent; // no output yet
        setLog({ ...EMPTY_LOG, status: silent ? "empty" : "failed", error: silent ? null : error });
      }
      mine.busy = false;
    },
    [trialId, attempt, rank],
  );

  const more = useCallback(async () => {
    const mine = shown.current;
    mine.again = mine.busy; // output that arrives during a request is fetched after it
    if (mine.busy || !mine.loaded) return;
    mine.busy = true;
    try {
      do {
        mine.again = false;
        const { text, next } = await part(mine.trialId, mine.attempt, mine.rank, { from_byte: mine.next });
        if (shown.current !== mine) return;
        if (text !== "" || next !== mine.next) {
          mine.next = next;
          setLog(before => ({
            ...before,
            text: shownEnd(before.text + text),
            next,
            earlier: before.earlier || before.text.length + text.length > shownEnd(before.text + text).length,
            status: next > 0 ? "there" : "empty",
          }));
          mine.again ||= text.length > MORE_TAIL_BYTES / 2;
        }
      } while (mine.again);
    } catch {
      // retried on the next message or poll
    } finally {
      mine.busy = false;
    }
  }, []);

  useEffect(() => {
    setLog(EMPTY_LOG);
    if (attempt > 0) void load(TAIL_BYTES);
    return () => {
      shown.current = { ...shown.current }; // responses in flight are ignored
    };
  }, [load, attempt]);

  useLive<LiveLog>("log", message => {
    const mine = message.trial_id === trialId && message.attempt === attempt && rank === 0; // of rank 0 only
    if (mine && message.size_bytes !== shown.current.next) void more();
  });

  // biome-ignore lint/correctness/useExhaustiveDependencies: fetches the last output when the attempt ends
  useEffect(() => void more(), [more, running]);

  useEffect(() => {
    if (!running || (live === "live" && rank === 0)) return;
    const timer = setInterval(() => void more(), POLL_MS);
    return () => clearInterval(timer);
  }, [running, live, rank, more]);

  return { log, loadMore: () => load(MORE_TAIL_BYTES), retry: () => load(TAIL_BYTES) };
}
