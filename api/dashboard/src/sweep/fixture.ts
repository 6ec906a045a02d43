// A sweep as the service returns it, for tests.
import type { Sweep } from "./sweep";

export function sweepFixture(changes: Partial<Sweep> = {}): Sweep {
  return {
    id: 7,
    name: "digits",
    state: "running",
    reason: "",
    wait_reason: null,
    wait_message: "",
    spec: { metric: { name: "val_accuracy", goal: "maximize" }, program: { model: "mlp" } },
    held: false,
    predecessors: [],
    successors: [],
    fixed: null,
    run_cap: 24,
    priority: 1,
    counts: { finished: 10, pruned: 2, running: 2, failed: 1 },
    best: { trial_id: 70, number: 3, value: 0.97, values: null, pareto: null, params: { lr: 0.01 } },
    ensembles: [],
    ensemble_id: null,
    ensemble_error: null,
    warm_start: null,
    device_busy_share: 0.9,
    budget: null,
    devices: ["cpu-0", "cpu-1"],
    eta_s: 62,
    population: null,
    versions: { python: "3.12.1", podium: "0.1.0" },
    provenance: { git_commit: null, git_dirty: null, command: [], packages_sha256: null },
    warnings: [],
    created_at: "2026-01-02T03:04:05Z",
    started_at: "2026-01-02T03:04:06Z",
    ended_at: null,
    ...changes,
  };
}
