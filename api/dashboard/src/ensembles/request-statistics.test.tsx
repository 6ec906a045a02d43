// Sparklines of an ensemble's traffic, and its events as sentences.
import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { showWithService } from "../testing/component-test-setup";
import { EventsPanel, eventText } from "./events";
import { pathsOf, TrafficPanel } from "./request-statistics";

const point = (minute: number, requests: number, p99_ms: number | null, late_share: number | null = null) => ({
  ...{ at: `2026-11-26T10:0${minute}:00Z`, requests, degraded: 0, failed: minute, late_share, p50_ms: p99_ms, p99_ms },
});
const TRAFFIC = { interval_s: 60, points: [point(0, 5, 2.5, 0.5), point(1, 0, null), point(2, 9, 8, 0.25)] };
const event = {
  id: 1,
  at: "2026-11-26T10:00:00Z",
  version: 2,
  members: [],
  member_names: [],
  reason: "",
  canary_share: null,
};

afterEach(() => vi.unstubAllGlobals());

test("each line names its highest and last value, and the period is in the URL", async () => {
  window.history.replaceState(null, "", "/ensembles/3");
  const sent = showWithService(<TrafficPanel ensembleId={3} />, { "GET /ensembles/3/traffic": TRAFFIC });
  expect(await screen.findByRole("img", { name: /^Requests: highest 9 at .*, last 9$/ })).toBeVisible();
  expect(screen.getByRole("img", { name: /^p99 latency: highest 8.0 ms at/ })).toBeVisible();
  expect(screen.getByRole("img", { name: /^Late replies: highest 50.0 % at .*, last 25.0 %$/ })).toBeVisible();
  expect(screen.getByText("14 in all, 0 degraded, 3 failed")).toBeVisible();
  await userEvent.click(screen.getByRole("button", { name: "24 hours" }));
  await waitFor(() => expect(sent.at(-1)?.query.get("minutes")).toBe("1440"));
  expect(window.location.search).toBe("?traffic=24h");
});

test("without requests there is no latency", async () => {
  showWithService(<TrafficPanel ensembleId={3} />, {
    "GET /ensembles/3/traffic": { interval_s: 60, points: [point(0, 0, null)] },
  });
  expect(await screen.findByRole("img", { name: "p99 latency: no requests" })).toBeVisible();
});

test("a line is interrupted where there is no value", () => {
  expect(pathsOf([1, 2, null, 2], 2)).toEqual(["M2 28L100.7 2", "M298 2h-2"]);
  expect(pathsOf([0, 0], 0)).toEqual(["M2 54L298 54"]);
});

test("events are sentences with their reason", async () => {
  showWithService(<EventsPanel ensembleId={3} />, {
    "GET /ensembles/3/events": [
      {
        ...event,
        kind: "member_restarting",
        members: [1],
        member_names: ["trial 4 of sweep 3"],
        reason: "killed by SIGKILL",
      },
    ],
  });
  expect(await screen.findByText("Trial 4 of sweep 3 in version 2 died and is restarted")).toBeVisible();
  expect(screen.getByText("killed by SIGKILL")).toBeVisible();
});

test.each([
  [{ kind: "version_added", canary_share: 0.1 }, "Version 2 added as a canary with 10 % of the requests"],
  [{ kind: "version_added" }, "Version 2 added"],
  [{ kind: "version_promoted" }, "Version 2 promoted"],
  [
    { kind: "member_failed", members: [0, 1], member_names: ["trial 4 of sweep 3", "trial 9 of sweep 3"] },
    "Trial 4 of sweep 3, trial 9 of sweep 3 in version 2 failed to load",
  ],
  [{ kind: "retired" }, "Ensemble retired"],
  [{ kind: "evaluation.finished" }, "Evaluation finished"],
])("%o", (changes, text) => {
  expect(eventText({ ...event, ...changes })).toBe(text);
});
