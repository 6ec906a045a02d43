// The header of a sweep's page: figures by state, budget, warnings, and the document title.
import { screen } from "@testing-library/react";
import { sweepFixture } from "../../sweep/fixture";
import type { Sweep } from "../../sweep/sweep";
import { showWithService } from "../../testing/component-test-setup";
import { SweepHeader, SweepNotices } from "./header";

async function show(changes: Partial<Sweep> = {}) {
  const head = (
    <>
      <SweepHeader sweepId={7} />
      <SweepNotices sweepId={7} />
    </>
  );
  showWithService(head, { "GET /sweeps/7": sweepFixture(changes) });
  await screen.findByRole("heading", { level: 1 });
}
const stat = (name: string) => screen.queryByText(name, { selector: "dt" })?.nextElementSibling?.textContent ?? null;

afterEach(() => vi.unstubAllGlobals());

test("a running sweep shows the time left, its best trial and its devices", async () => {
  await show();
  expect(stat("Time left (max)")).toMatch(/^about 1 min/);
  expect(stat("Best val_accuracy ↑")).toBe("0.97trial 3");
  expect(stat("Devices in use")).toBe("290.0 % of all devices' time");
  expect(document.title).toBe("12/24 · digits · Podium");
});

test("without an estimate the elapsed time is shown", async () => {
  await show({ eta_s: null, started_at: new Date(Date.now() - 90_000).toISOString() });
  expect(stat("Running for")).toMatch(/^1 min 3\d s$/);
});

test("a queued sweep shows how long it has waited", async () => {
  await show({
    state: "queued",
    started_at: null,
    eta_s: null,
    created_at: new Date(Date.now() - 5_400_000).toISOString(),
  });
  expect(stat("Queued for")).toBe("1 h 30 min");
});

test("a finished sweep shows its duration and uses no devices", async () => {
  await show({ state: "finished", ended_at: "2026-01-02T03:05:06Z" });
  expect(stat("Duration")).toBe("1 min");
  expect(stat("Devices in use")).toMatch(/^none/);
});

test("several objectives show the other values of the best trial", async () => {
  await show({
    spec: {
      metrics: [
        { name: "accuracy", goal: "maximize" },
        { name: "size", goal: "minimize" },
      ],
    },
    best: { trial_id: 70, number: 3, value: 0.9, values: { size: 12 }, pareto: true, params: {} },
  });
  expect(stat("Best accuracy ↑")).toBe("0.9 size 12trial 3");
});

test("before a trial has finished there is no best", async () => {
  await show({ best: null });
  expect(stat("Best val_accuracy ↑")).toBe("–");
});

test("each limit of the budget has a figure", async () => {
  await show({
    budget: {
      wall_s: { used: 60, allowed: 3_600 },
      device_s: { used: 0, allowed: null },
      plateau: null,
      target: { value: 0.99, reached_by: null },
    },
  });
  expect(stat("Budget: time")).toBe("59 min left1 min used of 1 h");
  expect(stat("Budget: target 0.99")).toMatch(/^not reached/);
  expect(stat("Budget: device time")).toBeNull();
});

test("an ensemble that could not be built is reported", async () => {
  await show({ ensemble_error: "only 1 trial has a model" });
  expect(screen.getByText("Ensemble not built: only 1 trial has a model")).toBeVisible();
});

test("a sweep that cannot be loaded offers a retry", async () => {
  showWithService(<SweepHeader sweepId={8} />);
  expect(await screen.findByRole("button", { name: "Retry" })).toBeVisible();
  expect(document.title).toBe("Sweep 8 · Podium");
});
