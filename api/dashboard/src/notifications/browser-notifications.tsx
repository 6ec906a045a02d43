// Browser notifications about chosen sweeps that have finished, failed or stalled, from whatever page is open.
import { useQueries } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { useLocation } from "wouter";
import { api, done } from "../api";
import { keys } from "../query-keys";
import { ENDED_STATES, type Sweep } from "../sweep/sweep";
import { useWatchedSweeps, watchSweep } from "./watched-sweeps";

const POLL_MS = 30_000; // live messages come sooner
const STALLED_MS = 600_000;
/** Nobody but an operator can end these waits. */
const STALLED_BY = ["disk_full", "no_device", "no_matching_device", "devices_closed", "predecessor_failed", "fix_from"];

export function BrowserNotifications() {
  const watched = useWatchedSweeps();
  const [, go] = useLocation();
  const found = useQueries({
    queries: watched.map(id => ({
      queryKey: keys.sweep(id, "itself"),
      refetchInterval: POLL_MS,
      refetchIntervalInBackground: true,
      queryFn: () => done(api.GET("/api/v1/sweeps/{sweep_id}", { params: { path: { sweep_id: id } } })),
    })),
  });
  const waits = useRef(new Map<number, { since: number; told: boolean }>());
  useEffect(() => {
    for (const { data: sweep } of found) {
      if (!sweep || !watched.includes(sweep.id)) continue;
      if (ENDED_STATES.includes(sweep.state)) {
        watchSweep(sweep.id, false);
        if (sweep.state !== "cancelled") show(sweep, sweep.state, sweep.reason, go);
      } else if (isStalled(sweep, waits.current)) show(sweep, "stalled", sweep.wait_message ?? "", go);
    }
  });
  return null;
}

/** Whether a sweep has waited for ten minutes; true once for each wait. */
export function isStalled(
  sweep: Pick<Sweep, "id" | "wait_reason">,
  waits: Map<number, { since: number; told: boolean }>,
  now = Date.now(),
): boolean {
  if (!STALLED_BY.includes(sweep.wait_reason ?? "")) {
    waits.delete(sweep.id);
    return false;
  }
  const wait = waits.get(sweep.id) ?? { since: now, told: false };
  waits.set(sweep.id, wait);
  if (wait.told || now - wait.since < STALLED_MS) return false;
  wait.told = true;
  return true;
}

function show(sweep: Sweep, what: string, body: string, go: (path: string) => void): void {
  if (typeof Notification === "undefined" || Notification.permission !== "granted") return;
  // With the same tag, the notifications of several tabs are one.
  const shown = new Notification(`Sweep ${sweep.name} ${what}`, { body, tag: `podium-sweep-${sweep.id}-${what}` });
  shown.onclick = () => {
    window.focus();
    go(`/sweeps/${sweep.id}`);
    shown.close();
  };
}
