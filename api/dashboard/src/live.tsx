// One event stream per tab: changed data is fetched again, other messages are passed to subscribers.
import { useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, useContext, useEffect, useRef, useState } from "react";
import { ConnectionProvider } from "./connection-status";
import { keys } from "./query-keys";
import { type MessageHandler, Stream, type StreamState } from "./stream";
import { InvalidationQueue } from "./throttled-refetch";

/** What the page shows; the stream sends more details about it. */
export type Focus = { sweep?: number; trial?: number; ensemble?: number };
export type LiveState = StreamState;
export type Changes = {
  sweeps: number[];
  trials: Record<string, number[]>;
  devices: boolean;
  ensembles: number[];
  evaluations: number[];
  kinds: string[];
};
/** "metrics": the last [step, value] of running trials, by trial and metric. */
export type LivePoints = { points: Record<string, Record<string, [number, number]>> };
/** "log": the current size of the log of the focused trial. */
export type LiveLog = { trial_id: number; attempt: number; size_bytes: number };

const POLL_MS = 5_000;

type Live = { setFocus: (focus: Focus) => void; listen: (handler: MessageHandler) => () => void };
const LiveContext = createContext<Live>({ setFocus: () => undefined, listen: () => () => undefined });
const LiveStateContext = createContext<LiveState>("connecting");

export function useLiveState(): LiveState {
  return useContext(LiveStateContext);
}

/** Declares what the page shows while the component is mounted. */
export function useFocus({ sweep, trial, ensemble }: Focus): void {
  const { setFocus } = useContext(LiveContext);
  useEffect(() => {
    setFocus({ sweep, trial, ensemble });
    return () => setFocus({});
  }, [setFocus, sweep, trial, ensemble]);
}

/** Subscribes to messages of one kind ("metrics", "log", "health", "changes", "reset"). */
export function useLive<T>(kind: string, handler: (data: T) => void): void {
  const { listen } = useContext(LiveContext);
  const latest = useRef(handler);
  useEffect(() => {
    latest.current = handler;
  });
  useEffect(() => listen((messageKind, data) => messageKind === kind && latest.current(data as T)), [listen, kind]);
}

export function LiveProvider({ children }: { children: ReactNode }) {
  const queries = useQueryClient();
  const [state, setState] = useState<LiveState>("connecting");
  const stream = useRef<Stream | null>(null);
  const focus = useRef("");
  const listeners = useRef(new Set<MessageHandler>());

  useEffect(() => {
    const stale = new InvalidationQueue(queries);
    stream.current = new Stream({
      onMessage: (kind, data) => {
        if (kind === "changes") stale.add(staleKeys(data as Changes));
        if (kind === "reset") stale.add([[]]);
        for (const listener of listeners.current) listener(kind, data);
      },
      onState: setState,
    });
    stream.current.setQuery(focus.current);
    return () => {
      stream.current?.close();
      stream.current = null;
      stale.close();
    };
  }, [queries]);

  useEffect(() => {
    if (state === "live") {
      void queries.invalidateQueries({ predicate: query => query.state.status === "error" });
      return;
    }
    const timer = setInterval(() => {
      if (document.visibilityState !== "hidden") void queries.invalidateQueries(undefined, { cancelRefetch: false });
    }, POLL_MS);
    return () => clearInterval(timer);
  }, [state, queries]);

  const [live] = useState<Live>(() => ({
    setFocus: next => {
      focus.current = asQuery(next);
      stream.current?.setQuery(focus.current);
    },
    listen: handler => {
      listeners.current.add(handler);
      return () => listeners.current.delete(handler);
    },
  }));
  return (
    <LiveContext.Provider value={live}>
      <LiveStateContext.Provider value={state}>
        <ConnectionProvider stream={state}>{children}</ConnectionProvider>
      </LiveStateContext.Provider>
    </LiveContext.Provider>
  );
}

function asQuery(focus: Focus): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(focus)) if (value !== undefined) query.set(key, String(value));
  return query.toString();
}

/** The query key prefixes that a message invalidates. */
export function staleKeys(changes: Changes): (readonly unknown[])[] {
  const stale: (readonly unknown[])[] = changes.sweeps.length > 0 ? [keys.sweeps()] : [];
  for (const id of new Set([...changes.sweeps, ...Object.keys(changes.trials).map(Number)])) stale.push(keys.sweep(id));
  for (const id of Object.values(changes.trials).flat()) stale.push(keys.trial(id));
  if (changes.devices) stale.push(keys.devices());
  if (changes.ensembles.length > 0) stale.push(keys.ensembles());
  for (const id of new Set([...changes.ensembles, ...changes.evaluations])) stale.push(keys.ensemble(id));
  return stale;
}
