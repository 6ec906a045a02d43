// The list of sweeps as assistive technology reads it.
import { screen } from "@testing-library/react";
import { showWithService } from "../testing/component-test-setup";
import { sweepFixture } from "./fixture";
import { SweepsTable } from "./sweeps-table";

test("a row shows state, reason, progress, best, time and devices", () => {
  const waiting = sweepFixture({
    id: 8,
    name: "<b>late</b>",
    state: "queued",
    wait_reason: "devices_busy" as const,
    wait_message: "every device is busy",
    eta_s: null,
  });
  showWithService(<SweepsTable sweeps={[sweepFixture(), waiting]} />);
  expect(screen.getByRole("link", { name: "digits" }).getAttribute("href")).toBe("/sweeps/7");
  expect(screen.getByRole("link", { name: "<b>late</b>" })).toBeTruthy();
  expect(screen.getByText("every device is busy")).toBeTruthy();
  expect(screen.getByText("about 1 min left")).toBeTruthy();
  expect(screen.getAllByText("0.97")).toHaveLength(2);
  expect(screen.getAllByText("cpu-0, cpu-1")).toHaveLength(2);
  const bar = screen.getAllByRole("progressbar")[0];
  expect(bar?.getAttribute("aria-valuetext")).toBe("12 of 24 trials; 2 running, 10 finished, 2 pruned, 1 failed");
});

test("a row shows the warnings of the sweep", () => {
  const warnings = [{ code: "identical_results", message: "all trials report the same value", at: null }];
  showWithService(<SweepsTable sweeps={[sweepFixture({ warnings })]} />);
  expect(screen.getByText("Warning: all trials report the same value")).toBeTruthy();
});

test("a row shows the best value of each objective", () => {
  const metrics = [
    { name: "acc", goal: "maximize" },
    { name: "size", goal: "minimize" },
  ];
  const best = { trial_id: 1, number: 0, value: 0.5, values: { acc: 0.5, size: 12 }, pareto: true, params: {} };
  showWithService(<SweepsTable sweeps={[sweepFixture({ spec: { metrics }, best })]} />);
  expect(screen.getByText("0.5")).toBeTruthy();
  expect(screen.getByText("12")).toBeTruthy();
});

test("a row of a running sweep says what the sweep waits for", () => {
  const wait = { wait_reason: "devices_busy" as const, wait_message: "every device runs a trial of sweep 4" };
  showWithService(<SweepsTable sweeps={[sweepFixture({ state: "running", reason: "resumed on request", ...wait })]} />);
  expect(screen.getByText("Waits: every device runs a trial of sweep 4")).toBeVisible();
  expect(screen.queryByText(/resumed on request/)).toBeNull();
});

test("a row of a running sweep that does not wait has no reason", () => {
  showWithService(
    <SweepsTable sweeps={[sweepFixture({ state: "running", reason: "", wait_reason: null, wait_message: "" })]} />,
  );
  expect(screen.queryByText(/Waits/)).toBeNull();
});
