// The devices of a sweep: utilization, other sweeps, and what the filter mutes.
import { screen } from "@testing-library/react";
import { pointsOf } from "../../charts/fixture";
import { showWithService } from "../../testing/component-test-setup";
import { lineFixture } from "../../timeline/fixture";
import { DevicesTab } from "./devices-tab";

const NOW = 1_800_000_000;
const VIEW = {
  ...{ from_s: 0, to_s: 120, now_s: NOW, sweep_id: 7, shortest_s: 0.1, busy_share: 0.5, sweeps: { 1: "resnet" } },
  devices: [lineFixture("cpu-0", { sweep_busy_s: 60 }), lineFixture("cpu-1", { sweep_busy_s: 20 })],
};

function show(view: object = {}, query = "") {
  window.history.replaceState(null, "", `/sweeps/7/devices${query}`);
  showWithService(<DevicesTab sweepId={7} />, {
    "GET /timeline": { ...VIEW, ...view },
    "GET /sweeps/7/points": pointsOf({ value: [1] }),
  });
}
const stat = (name: string) => screen.queryByText(name, { selector: "dt" })?.nextElementSibling?.textContent ?? null;

afterEach(() => vi.unstubAllGlobals());

test("busy time is split between this sweep and others", async () => {
  show();
  await screen.findByRole("heading", { name: "Devices" });
  expect([stat("Busy share"), stat("This sweep"), stat("Other sweeps"), stat("Idle")]).toEqual([
    ...["50.0 %", "1 min 20 s", "40 s", "2 min"],
  ]);
});

test("without other sweeps their time is left out", async () => {
  show({ devices: [lineFixture("cpu-0", { sweep_busy_s: 60 })] });
  await screen.findByRole("heading", { name: "Devices" });
  expect(stat("Other sweeps")).toBeNull();
});

test("an imported sweep has no activity", async () => {
  show({ devices: [] });
  expect(await screen.findByRole("heading", { name: "No recorded activity" })).toBeVisible();
});

test("trials that do not match the filter are muted in the legend", async () => {
  show({}, "?filter=lr<1");
  expect(await screen.findByText(/trials that do not match the filter/)).toBeVisible();
});
