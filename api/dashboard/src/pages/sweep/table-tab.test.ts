// The orders that clicks on a column header go through.
import { sweepFixture } from "../../sweep/fixture";
import { nextSort } from "./table-tab";

const SWEEP = sweepFixture({ spec: { metric: { name: "loss", goal: "minimize" }, parameters: {} } });

function clicks(key: string): string[] {
  const first = nextSort(key, "best", SWEEP);
  const second = nextSort(key, first, SWEEP);
  return [first, second, nextSort(key, second, SWEEP)];
}

test("times and memory are sorted with the largest first", () => {
  for (const key of ["peak_memory_mb", "peak_gpu_memory_mb", "running_s", "queued_s", "started_at", "non_finite(loss)"])
    expect(clicks(key)).toEqual([`-${key}`, key, "best"]);
});

test("other columns are sorted with the smallest first, and the objective with the best", () => {
  for (const key of ["number", "params.lr", "min(loss)", "state"])
    expect(clicks(key)).toEqual([key, `-${key}`, "best"]);
  expect(clicks("value").slice(1)).toEqual(["best", "-best"]);
});
