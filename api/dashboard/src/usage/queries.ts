// What trials and devices use over time, fetched again while they run.
import { useQuery } from "@tanstack/react-query";
import { api, done, type Schemas } from "../api";
import { keys } from "../query-keys";

export type Usage = Schemas["UsageView"];
export type Samples = Schemas["UsageColumns"];
export type DeviceUsage = Schemas["DeviceUsageView"];

const RUNNING_MS = 2_000;
const DEVICES_MS = 5_000;
const MAX_POINTS = 600;

/** The usage of an attempt; null: the current one. */
export function useUsage(trialId: number, attempt: number | null, running: boolean) {
  return useQuery<Usage>({
    queryKey: keys.trial(trialId, "usage", attempt),
    refetchInterval: running ? RUNNING_MS : false,
    placeholderData: undefined,
    queryFn: ({ signal }) => {
      const query = { max_points: MAX_POINTS, ...(attempt === null ? {} : { attempt }) };
      const params = { path: { trial_id: trialId }, query };
      return done(api.GET("/api/v1/trials/{trial_id}/usage", { params, signal }));
    },
  });
}

/** The usage of each device in a time range; `live`: its end is now, and its start moves. */
export function useDeviceUsage(from: number, to: number, live: boolean) {
  const minutes = Math.ceil((to - from) / 60);
  return useQuery<DeviceUsage[]>({
    queryKey: keys.devices("usage", ...(live ? [minutes] : [Math.round(from), Math.round(to)])),
    refetchInterval: live ? DEVICES_MS : false,
    queryFn: async ({ signal }) => {
      const query = live ? { from_s: to - 60 * minutes } : { from_s: from, to_s: to };
      return (await done(api.GET("/api/v1/timeline/usage", { params: { query }, signal }))).devices;
    },
  });
}
