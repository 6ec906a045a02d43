// Sections of the trial page: attempts, files, parameters and the header.
import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { sweepFixture } from "../../sweep/fixture";
import { type Answers, showWithService } from "../../testing/component-test-setup";
import { Attempts, causeLabel } from "./attempts";
import { Files } from "./files";
import { TrialHead } from "./header";
import { Parameters } from "./parameter-comparison";
import type { Attempt, Trial } from "./queries";

const ATTEMPT = {
  ...{ number: 1, device: "cpu-0", node: "n", pid: 41, visible_devices: "", torch_device: "cpu", import_s: 1.5 },
  ...{ started_at: "2026-01-01T00:00:00Z", ended_at: "2026-01-01T00:00:20Z", duration_s: 20, state: "failed" },
  ...{ cause: "disk_quota", message: "no space in the trial's folder", traceback: null, log_tail: null, exit: "1" },
  ...{ late_prune_answers: 0, orphans_killed: 0, sending_files: false, devices: 1 },
} as unknown as Attempt;
const TRIAL = {
  ...{ id: 7, sweep_id: 3, number: 4, state: "failed", value: null, values: null, constraints: {}, user_attrs: {} },
  ...{ tags: [], params: { lr: 0.02, width: 32 }, sampler: "tpe", attempt: 2, requested: null, device: "cpu-0" },
  ...{ fallback_reason: null, fallback_error: null, proposed_for: null },
  ...{ cause: null, note: "", cloned_from: null, attempts: [], artifacts: [], unfit: null },
  ...{ created_at: null, started_at: null, ended_at: null },
} as unknown as Trial;
const SWEEP = sweepFixture({
  id: 3,
  spec: { metric: { name: "loss", goal: "minimize" }, parameters: { lr: { min: 1e-4, max: 1, log: true } } },
  best: { trial_id: 5, number: 2, value: 0.5, values: null, pareto: null, params: { lr: 0.01, width: 16 } },
});

beforeEach(() => window.history.replaceState(null, "", "/trials/7"));
afterEach(() => vi.unstubAllGlobals());

const showAttempts = (...attempts: Partial<Attempt>[]) =>
  showWithService(<Attempts trial={{ ...TRIAL, attempts: attempts.map(each => ({ ...ATTEMPT, ...each })) }} />);

test("a trial that has not started has no attempts", () => {
  showAttempts();
  expect(screen.getByText("The trial is waiting for a device.")).toBeVisible();
});

test("an attempt shows its cause, message, exit status and process", () => {
  showAttempts({});
  expect(screen.getByText(/Disk quota exceeded/).textContent).toBe("Disk quota exceeded (disk_quota)");
  expect(screen.getByText("no space in the trial's folder")).toBeVisible();
  expect(screen.getByText("process 41 · program loaded in 1.5 s · torch device cpu · exit status 1")).toBeVisible();
});

test("the share of an attempt that shares its device is shown", () => {
  showAttempts({ devices: 0.25, exit: null });
  expect(screen.getByText(/torch device cpu · 25 % of its device/)).toBeVisible();
});

test("an attempt that has left its device sends its files", () => {
  showAttempts({ state: null, ended_at: null, duration_s: null, sending_files: true });
  expect(screen.getByText(/^on cpu-0, .*, sending its files$/)).toBeVisible();
});

test("the exit status of an attempt that reported its failure is left out", () => {
  showAttempts({ exit: "0" });
  expect(screen.queryByText(/exit status/)).toBeNull();
});

test("signals, orphans and late responses are noted", () => {
  showAttempts({ pid: null, exit: "SIGKILL", orphans_killed: 2, late_prune_answers: 1 });
  expect(
    screen.getByText(/process not started .* SIGKILL · 2 orphaned processes killed · 1 late pruning/),
  ).toBeVisible();
});

test("the newest attempt comes first, and the log of an earlier one can be opened", async () => {
  showAttempts({ number: 1 }, { number: 2, state: "finished", cause: null, message: "" });
  expect(screen.getByRole("heading", { name: "Attempts (2)" })).toBeVisible();
  expect(screen.getAllByRole("heading", { level: 3 }).map(each => each.textContent)).toEqual([
    "Attempt 2",
    "Attempt 1",
  ]);
  await userEvent.click(screen.getAllByRole("button", { name: "Show log" })[1] as HTMLElement);
  expect(window.location.search).toBe("?attempt=1");
});

test("causes without a label are readable", () => {
  expect([causeLabel("oom_kill"), causeLabel("timeout")]).toEqual(["oom kill", "Time limit"]);
});

const FILE = { name: "model.safetensors", attempt: 1, size_bytes: 2_500, sha256: "f".repeat(64), removed: null };

test("files are downloads with their kind and size", () => {
  showWithService(<Files trial={{ ...TRIAL, artifacts: [FILE, { ...FILE, name: "artifacts/a b.png" }] as never }} />);
  expect(screen.getAllByRole("link").map(link => link.getAttribute("href"))).toEqual([
    "/api/v1/trials/7/files/model.safetensors",
    "/api/v1/trials/7/files/artifacts%2Fa%20b.png",
  ]);
  expect(screen.getByText("trained network · attempt 1")).toBeVisible();
  expect(screen.getByText("saved by the trial · attempt 1")).toBeVisible();
  expect(screen.getAllByText("2.5 kB")).toHaveLength(2);
});

test("a removed file is crossed out with the reason", () => {
  showWithService(<Files trial={{ ...TRIAL, artifacts: [{ ...FILE, removed: "not among the best 5" }] as never }} />);
  expect(screen.queryByRole("link")).toBeNull();
  expect(screen.getByText(/not among the best 5/)).toBeVisible();
});

test.each([
  ["failed", "No files"],
  ["running", "No files yet"],
])("a trial that is %s without files says %s", (state, text) => {
  showWithService(<Files trial={{ ...TRIAL, state }} />);
  expect(screen.getByText(text)).toBeVisible();
});

test("parameters are compared with the best trial", () => {
  showWithService(<Parameters trial={TRIAL} sweep={SWEEP} />);
  expect(screen.getByText("Compared with trial 2")).toBeVisible();
  const rows = screen
    .getAllByRole("row")
    .slice(1)
    .map(row => row.textContent);
  expect(rows).toEqual(["lr0.020.01×2", "width3216+16"]);
  expect(screen.getByRole("link", { name: "Compare" })).toHaveAttribute("href", "/sweeps/3/compare?trials=3.4,3.2");
});

test("the best trial is compared with nothing", () => {
  showWithService(<Parameters trial={{ ...TRIAL, id: 5 }} sweep={SWEEP} />);
  expect(screen.getByText("This is the best trial so far")).toBeVisible();
  expect(screen.queryByRole("columnheader", { name: "Difference" })).toBeNull();
});

test("a clone can be compared with its original", async () => {
  const parent = { ...TRIAL, id: 6, number: 3, params: { lr: 0.04 } };
  showWithService(<Parameters trial={{ ...TRIAL, cloned_from: 6 }} sweep={SWEEP} />, { "GET /trials/6": parent });
  await userEvent.selectOptions(screen.getByLabelText("Compare with"), "origin");
  expect(await screen.findByText("Compared with trial 3")).toBeVisible();
  const row = screen.getByRole("rowheader", { name: "width" }).closest("tr") as HTMLElement;
  expect(
    within(row)
      .getAllByRole("cell")
      .map(cell => cell.textContent),
  ).toEqual(["32", "–", "–"]);
});

test("without a finished trial there is nothing to compare with", () => {
  showWithService(<Parameters trial={{ ...TRIAL, params: {} }} sweep={{ ...SWEEP, best: null }} />);
  expect(screen.getByText("No finished trial to compare with yet")).toBeVisible();
  expect(screen.getByText("No parameters yet.")).toBeVisible();
});

function showHead(changes: Partial<Trial> = {}, answers: Answers = {}, role?: string, state = "running") {
  const items = [3, 4, 5].map(number => ({ id: 100 + number, number }));
  return showWithService(
    <TrialHead trial={{ ...TRIAL, ...changes }} sweep={{ ...SWEEP, state }} />,
    { "GET /sweeps/3/trials": { items, next: null }, ...answers },
    role,
  );
}

test("the neighbours are linked by number", async () => {
  showHead();
  expect(await screen.findByRole("link", { name: "Previous trial (k)" })).toHaveAttribute("href", "/sweeps/3/trials/3");
  expect(screen.getByRole("link", { name: "Next trial (j)" })).toHaveAttribute("href", "/sweeps/3/trials/5");
});

test.each([
  ["running", [" Compare", "Clone…", "Stop…"]],
  ["failed", [" Compare", "Retry", "Clone…"]],
  ["finished", [" Compare", "Clone…"]],
])("a trial that is %s offers %j", (state, names) => {
  showHead({ state });
  expect(screen.getAllByRole("button").flatMap(button => button.textContent || [])).toEqual(names);
});

test("a stop is confirmed, sent and reported", async () => {
  const sent = showHead({ state: "running" }, { "POST /trials/7/stop": { ...TRIAL, requested: "stop" } });
  await userEvent.click(screen.getByRole("button", { name: "Stop…" }));
  expect(sent.some(one => one.method === "POST")).toBe(false);
  await userEvent.click(screen.getByText("Stop the trial"));
  expect(await screen.findByText("Stopping trial 4")).toBeVisible();
});

test("a requested command is shown and not offered again", () => {
  showHead({ state: "running", requested: "stop" } as Partial<Trial>);
  expect(screen.getByText("stopping")).toBeVisible();
  expect(screen.queryByRole("button", { name: "Stop…" })).toBeNull();
});

test("a cancelled sweep accepts neither retries nor clones", () => {
  showHead({ state: "failed" }, {}, "admin", "cancelled");
  expect(screen.queryByRole("button", { name: "Retry" })).toBeNull();
  expect(screen.getByRole("button", { name: "Clone…" })).toBeDisabled();
});
