// The side panel of one trial: errors of its requests, causes, results, curves, and states of the log.
import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { gridFixture, panelFixture } from "../../curves/fixture";
import { sweepFixture } from "../../sweep/fixture";
import { type Sent, showWithService, stubSize } from "../../testing/component-test-setup";
import { TrialPanel } from "./trial-panel";

const ATTEMPT = {
  ...{ number: 1, state: "finished", cause: null, message: "", traceback: "", ranks: [], device: "cpu-0" },
  ...{ devices: 1, exit: "0", pid: 4, orphans_killed: 0, late_prune_answers: 0 },
};
const FAILED = { ...ATTEMPT, state: "failed", cause: "user_error", message: "ValueError: no rows" };

function trial(changes: object = {}) {
  return {
    ...{ id: 70, number: 3, sweep_id: 7, state: "finished", value: 0.123456789, values: null, constraints: {} },
    ...{ user_attrs: {}, tags: [], attempt: 1, params: { lr: 0.1 }, cloned_from: null, device: "cpu-0" },
    ...{ artifacts: [], requested: null, note: "", created_at: null, sampler: "tpe", attempts: [ATTEMPT] },
    ...{ started_at: "2026-01-01T00:00:00Z", ended_at: "2026-01-01T00:01:30Z" },
    ...changes,
  };
}

type Shown = { found?: unknown; metrics?: string[]; log?: unknown; sweep?: object };

function show({ found = trial(), metrics = [], log = logOf("hello\n"), sweep = {} }: Shown = {}) {
  window.history.replaceState(null, "", "/sweeps/7/table?trial=3");
  stubSize(300);
  vi.stubGlobal("IntersectionObserver", undefined); // every chart is in view
  const onClose = vi.fn();
  const spec = { metric: { name: "loss", goal: "minimize" } };
  const sent = showWithService(<TrialPanel sweepId={7} trialId={70} number={3} onClose={onClose} />, {
    "GET /sweeps/7": sweepFixture({ spec, best: null, ...sweep }),
    "GET /trials/70": found,
    "GET /trials/70/log": log,
    "GET /sweeps/7/metrics": metrics.map(name => ({ name, goal: null })),
    "GET /sweeps/7/curve-grid": ({ query }: Sent) => ({
      ...gridFixture(["finished"]),
      panels: query.getAll("metric").map(name => panelFixture({ name })),
    }),
  });
  return { sent, onClose, panel: within(screen.getByRole("complementary", { name: "Trial 3" })) };
}

function logOf(text: string) {
  return () => new Response(text, { headers: { "Podium-Next-Byte": String(text.length) } });
}

afterEach(() => vi.unstubAllGlobals());

test("the panel links to the page of its trial, and is closed by its button", async () => {
  const { panel, onClose } = show();
  expect(panel.getByRole("link", { name: "Trial 3" })).toHaveAttribute("href", "/sweeps/7/trials/3");
  expect(panel.getByRole("link", { name: "Open page" })).toHaveAttribute("href", "/sweeps/7/trials/3");
  await userEvent.click(panel.getByRole("button", { name: "Close the side panel (Escape)" }));
  expect(onClose).toHaveBeenCalledTimes(1);
  expect(await panel.findByText("finished")).toBeVisible();
});

test("a trial that cannot be loaded is reported, and loaded again on request", async () => {
  let isBroken = true;
  const answer = () => (isBroken ? Response.json({ detail: "the database is locked" }, { status: 500 }) : trial());
  const { panel } = show({ found: answer });
  expect(await panel.findByRole("alert")).toHaveTextContent("the database is locked");
  isBroken = false;
  await userEvent.click(panel.getByRole("button", { name: "Retry" }));
  expect(await panel.findByText("1 min 30 s")).toBeVisible();
});

test("the value has the name of the objective, with its duration and device", async () => {
  const { panel } = show();
  const results = (await panel.findByText("1 min 30 s")).parentElement;
  expect(results?.textContent).toBe("loss 0.123461 min 30 scpu-0");
});

test("each of several objectives is written, and attempts are counted", async () => {
  const attempts = [FAILED, { ...ATTEMPT, number: 2 }];
  const { panel } = show({ found: trial({ values: { loss: 0.5, size: 12_000 }, attempt: 2, attempts, device: null }) });
  const results = (await panel.findByText("2 attempts")).parentElement;
  expect(results?.textContent).toBe("loss 0.5size 12,0001 min 30 s2 attempts");
});

test("a running trial has no value and no duration yet", async () => {
  const { panel } = show({ found: trial({ state: "running", value: null, ended_at: null }) });
  expect((await panel.findByText("cpu-0")).parentElement?.textContent).toBe("cpu-0");
});

test("the cause of a failure has its message, and the traceback on request", async () => {
  const attempts = [{ ...FAILED, traceback: "Traceback: here" }];
  const { panel } = show({ found: trial({ state: "failed", value: null, attempts }) });
  const failure = within(await panel.findByRole("region", { name: "Failure" }));
  expect(failure.getByText("ValueError: no rows")).toBeVisible();
  expect(failure.getByText("Traceback: here").closest("details")).not.toHaveAttribute("open");
  expect(failure.queryByText(/in attempt/)).toBeNull();
});

test("of several attempts, the last one is why the trial failed", async () => {
  const attempts = [FAILED, { ...FAILED, number: 2, message: "KeyError: lr" }];
  const { panel } = show({ found: trial({ state: "failed", value: null, attempt: 2, attempts }) });
  const failure = await panel.findByRole("region", { name: "Failure" });
  expect(failure).toHaveTextContent(/in attempt 2KeyError: lr$/);
});

test("a trial that waits for its next attempt has not failed", async () => {
  const { panel } = show({ found: trial({ state: "waiting", value: null, attempts: [FAILED] }) });
  expect(await panel.findByText("waiting")).toBeVisible();
  await panel.findByRole("region", { name: "Curves" });
  expect(panel.queryByRole("region", { name: "Failure" })).toBeNull();
});

test("the first four metrics are drawn, the others are behind a link", async () => {
  const { panel, sent } = show({ metrics: ["loss", "a", "b", "c", "d", "e"] });
  expect(await panel.findByRole("link", { name: "2 more metrics" })).toHaveAttribute("href", "/sweeps/7/trials/3");
  await waitFor(() => expect(panel.getAllByRole("figure")).toHaveLength(4));
  await waitFor(() => expect(sent.some(one => one.path.endsWith("/curve-grid"))).toBe(true));
  const asked = sent.filter(one => one.path.endsWith("/curve-grid"));
  expect(new Set(asked.map(({ query }) => query.get("filter")))).toEqual(new Set(["id:70"]));
});

test("one more metric is one", async () => {
  const { panel } = show({ metrics: ["loss", "a", "b", "c", "d"] });
  expect(await panel.findByRole("link", { name: "1 more metric" })).toBeVisible();
});

test("the end of the log has no empty line at its end", async () => {
  const { panel } = show({ log: logOf("first\nlast\n\n") });
  expect((await panel.findByText(/first/)).textContent).toBe("first\nlast");
});

test("a trial without output says so", async () => {
  const { panel } = show({ log: () => Response.json({ detail: "no log" }, { status: 404 }) });
  expect(await panel.findByText("No output")).toBeVisible();
});

test("a log that could not be loaded is not the same as no output", async () => {
  const { panel } = show({ log: () => Response.json({ detail: "disk error" }, { status: 500 }) });
  expect(await panel.findByText("The log could not be loaded.")).toBeVisible();
});

test("a trial that has not started has no log", async () => {
  const { panel, sent } = show({ found: trial({ state: "waiting", value: null, attempt: 0, attempts: [] }) });
  expect(await panel.findByText("No metrics reported")).toBeVisible();
  expect(panel.queryByRole("region", { name: "End of the log" })).toBeNull();
  expect(sent.some(one => one.path.endsWith("/log"))).toBe(false);
});
