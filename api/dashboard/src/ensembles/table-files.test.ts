// The tables of an ensemble's pages as files.
import { candidateRows } from "./candidates";
import type { Ensemble } from "./ensemble-types-and-labels";
import { ENSEMBLE, FIGURES } from "./fixture";
import { precisionRows } from "./precision-comparison";
import { comparisonRows } from "./version-comparison";
import { versionRows } from "./versions";

test("precisions have a row each, in ms and bytes; one that failed has only its error", () => {
  const measured = { precision: "int8", loss: 0.25, accuracy: 0.9, p50_us: [500, 14000], error: "" };
  const figures = [
    { ...measured, weights_bytes: 4000, process_bytes: 9000 },
    { ...measured, precision: "float16", p50_us: [], weights_bytes: 0, process_bytes: 0, error: "no linear layer" },
  ];
  const [head, ...rows] = precisionRows([{ name: "Trial 3", used: "int8", reason: "", figures }], "Log loss");
  expect(head?.slice(3, 7)).toEqual(["Accuracy", "Log loss", "p50 of 1 row (ms)", "p50 of 256 rows (ms)"]);
  expect(rows).toEqual([
    ["Trial 3", "int8", true, 0.9, 0.25, 0.5, 14, 4000, 9000, ""],
    ["Trial 3", "float16", false, null, null, null, null, null, null, "no linear layer"],
  ]);
  for (const row of rows) expect(row).toHaveLength(head?.length ?? 0);
});

test("candidates have a row each, members with their weight", () => {
  const pool = [11, 12].map((trial_id, number) => ({
    ...{ trial_id, number, sweep_id: 1, value: 0.9 - number / 10, weight: 0 },
    scores: { accuracy: 0.9, log_loss: 0.3 },
  }));
  const weights = new Map([[12, 0.25]]);
  expect(candidateRows({ pool: pool as never, metric: "val_accuracy", weights })).toEqual([
    ["trial", "sweep", "val_accuracy", "Accuracy (validation)", "Log loss (validation)", "member", "weight"],
    [0, 1, 0.9, 0.9, 0.3, false, undefined],
    [1, 1, 0.8, 0.9, 0.3, true, 0.25],
  ]);
});

test("versions have a row each, the newest first; members of other sweeps are named with them", () => {
  const first = ENSEMBLE.versions[0] as Ensemble["versions"][number];
  const members = [...first.members, { trial_id: 90, trial_number: 5, sweep_id: 8 }];
  const versions = [first, { ...first, number: 2, role: "canary", members, created_at: "2026-11-21T09:00:00Z" }];
  expect(versionRows({ ...ENSEMBLE, versions }).slice(1)).toEqual([
    [2, "canary", expect.any(String), "0, 1, 5 of sweep 8", "2026-11-21T09:00:00Z"],
    [1, "active", expect.any(String), "0, 1", null],
  ]);
});

test("a comparison has a row for each score", () => {
  const other = { ...FIGURES, ensemble: { ...FIGURES.ensemble, accuracy: 0.75, log_loss: 0.25, brier: null } };
  const pair = { split: "test", one: FIGURES, other: other as typeof FIGURES, ids: [1, 2] as const };
  const rows = comparisonRows({ pair, one: 1, other: 2 });
  expect(rows[0]).toEqual(["score", "version 1", "version 2", "difference", "better"]);
  expect(rows[1]).toEqual(["Accuracy", 0.875, 0.75, -0.125, "version 1"]);
  expect(rows[2]?.slice(0, 3)).toEqual(["Log loss", 0.3, 0.25]);
  expect(rows.find(row => row[0] === "Brier score")).toEqual(["Brier score", 0.2, null, null, null]);
});
