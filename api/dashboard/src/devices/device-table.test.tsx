// The table of devices: what runs, members, utilization, and identity.
import { render, screen, within } from "@testing-library/react";
import { lineFixture } from "../timeline/fixture";
import type { Device } from "./device";
import { DeviceTable } from "./device-table";

const NOW = 1_800_000_000;
const DEVICE = {
  ...{ id: "cpu-0", kind: "cpu", position: 0, node: "node", visible: "", uuid: null, slot_pid: 9, state: "ready" },
  ...{ reason: "", trial_id: null, member_ids: [], running: null, members: [] },
  changed_at: new Date((NOW - 120) * 1000).toISOString(),
} as unknown as Device;

function show(changes: Partial<Device> = {}, line = lineFixture("cpu-0")) {
  const device = { ...DEVICE, ...changes };
  const lines = new Map([[line.id, line]]);
  render(
    <DeviceTable
      {...{ lines, mayDrain: false, now: NOW, range: "in the last hour" }}
      machines={[{ name: "head", node: null, devices: [device] }]}
    />,
  );
}
const cells = () =>
  within(screen.getAllByRole("row")[1] as HTMLElement)
    .getAllByRole("cell")
    .map(cell => cell.textContent);

test("a device that runs a trial shows it with its duration and attempt", () => {
  const running = {
    ...{ trial_id: 70, number: 3, sweep_id: 7, sweep_name: "resnet", attempt: 2 },
    started_at: new Date((NOW - 90) * 1000).toISOString(),
  };
  show({ state: "busy", running: running as Device["running"] });
  expect(cells()[1]).toBe("Trial 3 of resnetfor 1 min 30 s, attempt 2");
  expect(screen.getByRole("link", { name: "Trial 3" })).toHaveAttribute("href", "/sweeps/7/trials/3");
});

test("a ready device with a reason is idle", () => {
  show({ reason: "no sweep is running" });
  expect(cells()[0]).toContain("idle");
  expect(cells()[0]).toContain("no sweep is running · for 2 min");
});

test("a drained device is labelled with its reason", () => {
  show({ state: "drained", reason: "the fan is loud" });
  expect(cells()[0]).toBe("❚❚drainedthe fan is loud · for 2 min");
});

test("utilization has its trials, failures and unavailable time", () => {
  show({}, lineFixture("cpu-0", { attempts: 12, failed: 2, closed_s: 60, busy_share: 0.25 }));
  expect(cells()[3]).toBe("25 %12 trials, 2 failed, unavailable 1 min");
});

test("before the timeline has loaded utilization is a dash", () => {
  show({}, lineFixture("cpu-9"));
  expect(cells()[3]).toBe("–");
});

test("the identity of a device is in its title", () => {
  show({ uuid: "GPU-1" } as Partial<Device>);
  expect(screen.getByTitle("node node, UUID GPU-1, slot process 9")).toBeVisible();
});
