// An ensemble, its scores and a prediction for component tests: two members, two classes.
import type { Ensemble, Figures, Member, Prediction } from "./ensemble-types-and-labels";

const ece = (error: number) => ({
  ece_equal_width: error,
  ece_equal_mass: error / 2,
  ece_equal_width_after_temperature: null,
  ece_equal_mass_after_temperature: null,
});

export const FIGURES: Figures = {
  split: "test",
  task: "classification",
  rows: 8,
  quorum: 1,
  ensemble: { accuracy: 0.875, log_loss: 0.3, brier: 0.2, ...ece(0.05), temperature: null },
  members: [
    { accuracy: 0.75, log_loss: 0.4, brier: 0.3, ...ece(0.06), temperature: null },
    { accuracy: 0.625, log_loss: 0.5, brier: 0.4, ...ece(0.07), temperature: null },
  ],
  best_member: 0,
  uncertainty: { predictive_entropy: 0.3, expected_entropy: 0.2, mutual_information: 0.1 },
  reliability: [{ confidence: 0.9, accuracy: 0.875, count: 8 }],
  best_reliability: [{ confidence: 0.95, accuracy: 0.75, count: 8 }],
  degradation: {
    safe_quorum: 2,
    subsets: [],
    sizes: [
      { answered: 1, subsets: 2, every_subset: true, worst: { accuracy: 0.625 }, mean: { accuracy: 0.6875 } },
      { answered: 2, subsets: 1, every_subset: true, worst: { accuracy: 0.875 }, mean: { accuracy: 0.875 } },
    ],
  },
  flags: [],
  metric: "accuracy",
  difference: 0.125,
  difference_ci95: [0.01, 0.25],
  log_loss_difference: -0.1,
  log_loss_difference_ci95: [-0.2, 0.05],
  mcnemar: { only_ensemble_right: 1, only_best_right: 0, exact: true, p_value: 1 },
  disagreement: [
    [0, 0.25],
    [0.25, 0],
  ],
};

export function memberOf(position: number, changes: Partial<Member["replicas"][number]> = {}): Member {
  const replica = {
    id: position + 1,
    number: 0,
    state: "ready",
    reason: "",
    device_id: `cpu-${position}`,
    device_ids: [`cpu-${position}`],
    node: "node",
    pid: 4000 + position,
    epoch: 1,
    restarts: 0,
    p50_ms: 1.25,
    p99_ms: 20.5,
    late_share: 0.125,
    waiting: 3,
    ...changes,
  };
  return {
    id: position + 1,
    position,
    trial_id: 11 + position,
    trial_number: position,
    sweep_id: 1,
    weight: 0.5,
    state: replica.state,
    reason: replica.reason,
    precision: { requested: "float32", used: "float32", reason: "", rows: 0, device: "", figures: [] },
    replicas: [replica],
  };
}

type Named = Ensemble["versions"][number]["members"][number];
const NAMED: Named[] = [0, 1].map(number => ({ trial_id: 11 + number, trial_number: number, sweep_id: 1 }));

export const ENSEMBLE: Ensemble = {
  id: 3,
  name: "small-1",
  sweep_id: 1,
  state: "ready",
  reason: "",
  version: 1,
  target: null,
  canary: null,
  canary_share: 0,
  created_at: "2026-11-21T09:00:00Z",
  mode: "between_graph",
  task: "classification",
  combine: "mean",
  temperature: 1,
  quorum: 1,
  deadline_ms: 1000,
  placement: "shared",
  devices: 1,
  precision: "float32",
  max_loss_increase: 0.01,
  classes: ["cat", "dog"],
  features: 3,
  selection: { method: "top_k", path: [], note: "", candidates: 4, best_member: 0, fitted_on: null, forced: false },
  plan: {},
  members: [memberOf(0), memberOf(1)],
  versions: [
    { number: 1, role: "active", combine: "mean", k: 2, trial_ids: [11, 12], members: NAMED, created_at: null },
  ],
};

export const ANSWER: Prediction = {
  ensemble: "small-1",
  version: 1,
  mode: "between_graph",
  outcome: "degraded",
  requested: 2,
  answered: 1,
  quorum: 1,
  degraded: true,
  members: [
    { member_id: 1, ...(NAMED[0] as Named), epoch: 1, status: "ok", queue_ms: 0.1, compute_ms: 2.5, message: "" },
    { member_id: 2, ...(NAMED[1] as Named), epoch: 1, status: "late", queue_ms: 0, compute_ms: 0, message: "" },
  ],
  deadline_ms: 200,
  total_ms: 201.5,
  outputs: [[0.25, 0.75]],
  weights: [1],
  labels: ["dog"],
  entropy: [0.5623],
  mutual_information: [0],
  member_outputs: [[[0.25, 0.75]], null],
};
