// One event stream per tab: changed data is fetched again, other messages are passed to subscribers.
import { useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, useContext, useEffect, useRef, useState } from "react";
import { keys } from "./keys";
import { Stale } from "./stale";
import { type Hear, Stream, type StreamState } from "./stream";

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

type Live = { look: (focus: Focus) => void; listen: (hear: Hear) => () => void };
const LiveContext = createContext<Live>({ look: () => undefined, listen: () => () => undefined });
const LiveStateContext = createContext<LiveState>("connecting");

export function useLiveState(): LiveState {
  return useContext(LiveStateContext);
}

/** Declares what the page shows while the component is mounted. */
export function useFocus({ sweep, trial, ensemble }: Focus): void {
  const { look } = useContext(LiveContext);
  useEffect(() => {
    look({ sweep, trial, ensemble });
    return () => look({});
  }, [look, sweep, trial, ensemble]);
}

/** Subscribes to messages of one kind ("metrics", "log", "health", "changes", "reset"). */
export function useLive<T>(kind: string, hear: (data: T) => void): void {
  const { listen } = useContext(LiveContext);
  const latest = useRef(hear);
  useEffect(() => {
    latest.current = hear;
  });
  useEffect(() => listen((said, data) => said === kind && latest.current(data as T)), [listen, kind]);
}

export function LiveProvider({ children }: { children: ReactNode }) {
  const queries = useQueryClient();
  const [state, setState] = useState<LiveState>("connecting");
  const stream = useRef<Stream | null>(null);
  const focus = useRef("");
  const listeners = useRef(new Set<Hear>());

  useEffect(() => {
    const stale = new Stale(queries);
    stream.current = new Stream({
      hear: (kind, data) => {
        if (kind === "changes") stale.add(staleKeys(data as Changes));
        if (kind === "reset") stale.add([[]]);
        for (const listener of listeners.current) listener(kind, data);
      },
      onState: setState,
    });
    stream.current.look(focus.current);
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
    look: next => {
      focus.current = asQuery(next);
      stream.current?.look(focus.current);
    },
    listen: hear => {
      listeners.current.add(hear);
      return () => listeners.current.delete(hear);
    },
  }));
  return (
    <LiveContext.Provider value={live}>
      <LiveStateContext.Provider value={state}>{children}</LiveStateContext.Provider>
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
