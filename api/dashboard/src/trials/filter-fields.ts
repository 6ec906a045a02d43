// The fields of the filter language: the columns of a trial, with hints and known values.

type Field = { hint: string; values?: readonly string[]; text?: boolean };

export const STATES: readonly string[] = ["running", "waiting", "finished", "pruned", "failed", "cancelled"];
const CAUSES = [
  ...["user_error", "non_finite", "oom", "timeout", "stalled", "exited", "signal", "bad_report", "host_memory"],
  ...["device_memory", "disk_quota", "disk_full", "node_lost", "start_timeout", "join_timeout", "pinning", "cancelled"],
  "infrastructure",
];
export const FIELDS: Record<string, Field> = {
  state: { hint: "trial state", values: STATES },
  value: { hint: "objective value" },
  top: { hint: "the N best trials", values: ["10", "50", "100"] },
  running_s: { hint: "seconds on a device" },
  queued_s: { hint: "seconds waiting for a device" },
  duration_s: { hint: "seconds from the first start to the end" },
  peak_memory_mb: { hint: "highest memory in MB" },
  peak_gpu_memory_mb: { hint: "highest GPU memory in MB" },
  tag: { hint: "tag; * is a wildcard", text: true },
  note: { hint: "words in the note; * is a wildcard", text: true },
  device: { hint: "device; cuda-* matches all of a kind", text: true },
  cause: { hint: "failure cause", values: CAUSES },
  error: { hint: "message of the failure; * is a wildcard", text: true },
  number: { hint: "number in the sweep; short form #17" },
  attempt: { hint: "number of attempts" },
  sampler: { hint: "sampler", text: true },
  fallback_reason: {
    hint: "why the method did not propose it",
    values: ["slow", "failed", "process_ended", "many_trials"],
  },
  proposed_for: { hint: "number of the trial that a late proposal was for" },
  feasible: { hint: "whether all constraints are satisfied", values: ["yes", "no"] },
  id: { hint: "trial id" },
};
