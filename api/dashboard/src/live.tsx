// One stream of events per tab: what changed on the service is fetched again, the rest is handed to who listens.
import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, useContext, useEffect, useMemo, useRef, useState } from "react";
import { keys } from "./keys";

/** What the page looks at: the stream tells more of it. */
export type Focus = { sweep?: number; trial?: number; ensemble?: number };
export type LiveState = "live" | "reconnecting" | "off";
export type Changes = {
  sweeps: number[];
  trials: Record<string, number[]>;
  devices: boolean;
  ensembles: number[];
  evaluations: number[];
};
type Listener = (kind: string, data: unknown) => void;

const POLL_MS = 5_000;
const PUSHED = ["changes", "metrics", "log", "health", "reset"];

type Live = { state: LiveState; look: (focus: Focus) => void; listen: (listener: Listener) => () => void };
const LiveContext = createContext<Live>({ state: "off", look: () => undefined, listen: () => () => undefined });

export function useLiveState(): LiveState {
  return useContext(LiveContext).state;
}

/** Say what the page looks at. */
export function useFocus({ sweep, trial, ensemble }: Focus): void {
  const { look } = useContext(LiveContext);
  useEffect(() => look({ sweep, trial, ensemble }), [look, sweep, trial, ensemble]);
}

/** Hear every message of one kind ("metrics", "log", "health"). */
export function useLive(kind: string, hear: (data: unknown) => void): void {
  const { listen } = useContext(LiveContext);
  const latest = useRef(hear);
  latest.current = hear;
  useEffect(() => listen((said, data) => said === kind && latest.current(data)), [listen, kind]);
}

export function LiveProvider({ children }: { children: ReactNode }) {
  const queries = useQueryClient();
  const [focus, setFocus] = useState("");
  const [state, setState] = useState<LiveState>("reconnecting");
  const listeners = useRef(new Set<Listener>());

  useEffect(() => {
    const source = new EventSource(`/api/v1/events${focus}`);
    let lost = false;
    source.onopen = () => {
      setState("live");
      if (lost) void queries.invalidateQueries();
      lost = false;
    };
    source.onerror = () => {
      lost = true;
      setState("reconnecting");
    };
    for (const kind of PUSHED) {
      source.addEventListener(kind, event => {
        const data: unknown = JSON.parse((event as MessageEvent<string>).data || "{}");
        if (kind === "changes") invalidate(queries, data as Changes);
        if (kind === "reset") void queries.invalidateQueries();
        for (const listener of listeners.current) listener(kind, data);
      });
    }
    return () => source.close();
  }, [focus, queries]);

  useEffect(() => {
    if (state === "live") return;
    const timer = setInterval(() => void queries.invalidateQueries(), POLL_MS);
    return () => clearInterval(timer);
  }, [state, queries]);

  const live = useMemo<Live>(
    () => ({
      state,
      look: next => setFocus(asQuery(next)),
      listen: listener => {
        listeners.current.add(listener);
        return () => listeners.current.delete(listener);
      },
    }),
    [state],
  );
  return <LiveContext.Provider value={live}>{children}</LiveContext.Provider>;
}

function asQuery(focus: Focus): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(focus)) if (value !== undefined) query.set(key, String(value));
  return query.size > 0 ? `?${query}` : "";
}

function invalidate(queries: QueryClient, changes: Changes): void {
  const stale = [...(changes.sweeps.length > 0 ? [keys.sweeps()] : [])] as (readonly unknown[])[];
  for (const id of new Set([...changes.sweeps, ...Object.keys(changes.trials).map(Number)])) stale.push(keys.sweep(id));
  for (const id of Object.values(changes.trials).flat()) stale.push(keys.trial(id));
  if (changes.devices) stale.push(keys.devices());
  if (changes.ensembles.length > 0) stale.push(keys.ensembles());
  for (const id of new Set([...changes.ensembles, ...changes.evaluations])) stale.push(keys.ensemble(id));
  for (const queryKey of stale) void queries.invalidateQueries({ queryKey });
}
