// Browser notifications: the permission, what is shown once, and waits.
import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { sweepFixture } from "../sweep/fixture";
import { showWithService } from "../testing/component-test-setup";
import { BrowserNotifications, isStalled } from "./browser-notifications";
import { NotifyButton } from "./notify-button";
import { watchedSweeps, watchSweep } from "./watched-sweeps";

class PlayedNotification {
  static permission = "default";
  static answer = "granted";
  static shown: string[] = [];
  static async requestPermission() {
    PlayedNotification.permission = PlayedNotification.answer;
    return PlayedNotification.answer;
  }
  constructor(title: string, options: { body: string }) {
    PlayedNotification.shown.push(`${title}: ${options.body}`);
  }
}

beforeEach(() => {
  Object.assign(PlayedNotification, { permission: "default", answer: "granted", shown: [] });
  vi.stubGlobal("Notification", PlayedNotification);
  for (const id of watchedSweeps()) watchSweep(id, false);
});
afterEach(() => vi.unstubAllGlobals());

test("the button asks for the permission, and switches", async () => {
  showWithService(<NotifyButton sweep={sweepFixture()} />);
  const button = screen.getByRole("button", { name: "Notify me" });
  await userEvent.click(button);
  expect(button).toHaveAttribute("aria-pressed", "true");
  expect(watchedSweeps()).toEqual([7]);
  expect(localStorage.getItem("podium.notify")).toBe("[7]");
  await userEvent.click(button);
  expect(watchedSweeps()).toEqual([]);
});

test("a denied permission is explained", async () => {
  PlayedNotification.answer = "denied";
  showWithService(<NotifyButton sweep={sweepFixture()} />);
  await userEvent.click(screen.getByRole("button", { name: "Notify me" }));
  expect(await screen.findByText(/does not allow notifications of this page/)).toBeVisible();
  expect(watchedSweeps()).toEqual([]);
});

test("a sweep that has ended has no button", () => {
  showWithService(<NotifyButton sweep={sweepFixture({ state: "finished" })} />);
  expect(screen.queryByRole("button", { name: "Notify me" })).toBeNull();
});

test.each([
  ["finished", ["Sweep digits finished: 24 trials"]],
  ["failed", ["Sweep digits failed: 24 trials"]],
  ["cancelled", []],
])("a watched sweep that is %s is notified once", async (state, shown) => {
  PlayedNotification.permission = "granted";
  watchSweep(7, true);
  showWithService(<BrowserNotifications />, { "GET /sweeps/7": sweepFixture({ state, reason: "24 trials" }) });
  await waitFor(() => expect(watchedSweeps()).toEqual([]));
  expect(PlayedNotification.shown).toEqual(shown);
});

test("a running sweep is not told", async () => {
  PlayedNotification.permission = "granted";
  watchSweep(7, true);
  const sent = showWithService(<BrowserNotifications />, { "GET /sweeps/7": sweepFixture() });
  await waitFor(() => expect(sent).toHaveLength(1));
  expect(PlayedNotification.shown).toEqual([]);
  expect(watchedSweeps()).toEqual([7]);
});

test("a wait is a stall after ten minutes, once", () => {
  const waits = new Map();
  const stuck = { id: 7, wait_reason: "no_device" } as const;
  expect(isStalled(stuck, waits, 0)).toBe(false);
  expect(isStalled(stuck, waits, 599_000)).toBe(false);
  expect(isStalled(stuck, waits, 600_000)).toBe(true);
  expect(isStalled(stuck, waits, 700_000)).toBe(false);
  expect(isStalled({ id: 7, wait_reason: null }, waits, 800_000)).toBe(false);
  expect(isStalled(stuck, waits, 900_000)).toBe(false);
  expect(isStalled(stuck, waits, 1_500_000)).toBe(true);
  expect(isStalled({ id: 8, wait_reason: "devices_busy" }, waits, 9_000_000)).toBe(false);
});
