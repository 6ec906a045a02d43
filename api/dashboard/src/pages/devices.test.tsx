// The page of devices: activity and idle reasons, drain and return by admins, and the table view.
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import type { DeviceLine } from "../timeline/device-bars-and-gaps";
import { DevicesPage } from "./devices";

const NOW = Date.now() / 1000;
const DEVICE = {
  id: "cpu-0",
  kind: "cpu",
  position: 0,
  node: "node",
  visible: "",
  uuid: null,
  slot_pid: 9,
  state: "ready",
  reason: "no sweep is running",
  trial_id: null,
  member_ids: [4],
  running: null,
  members: [
    {
      id: 4,
      position: 1,
      trial_id: 40,
      trial_number: 12,
      ensemble_id: 3,
      ensemble_name: "<img src=x onerror=alert(1)>",
    },
  ],
  changed_at: new Date((NOW - 120) * 1000).toISOString(),
};
const LINE: DeviceLine = {
  id: "cpu-0",
  kind: "cpu",
  node: "node",
  present: true,
  attempts: 1,
  failed: 1,
  busy_s: 60,
  sweep_busy_s: null,
  idle_s: 180,
  closed_s: 0,
  busy_share: 0.25,
  bars: {
    start_s: [NOW - 240],
    end_s: [NOW - 180],
    attempts: [1],
    state: ["failed"],
    failed: [1],
    busy_s: [60],
    sweep_id: [1],
    trial_id: [7],
    number: [0],
    last_number: [0],
  },
  gaps: { start_s: [NOW - 180], end_s: [NOW], reason: [0], gaps: [1] },
  reasons: [{ why: "idle", reason: "no sweep is running", total_s: 180, gaps: 1 }],
};
const TIMELINE = {
  from_s: NOW - 3600,
  to_s: NOW,
  now_s: NOW,
  sweep_id: null,
  shortest_s: 6,
  busy_share: 0.25,
  sweeps: { 1: "resnet" },
  devices: [LINE],
};

let sent: { path: string; body: unknown }[];

function open(role: string, device: object = DEVICE, path = "/devices", nodes: object[] = []) {
  sent = [];
  window.history.replaceState(null, "", path);
  vi.stubGlobal("fetch", async (request: Request) => {
    const where = new URL(request.url).pathname.replace("/api/v1", "");
    if (request.method === "POST") {
      sent.push({ path: where, body: await request.json().catch(() => null) });
      return Response.json(device);
    }
    if (where === "/session") return Response.json({ name: "ann", role, expires_at: null });
    if (where === "/nodes") return Response.json(nodes);
    if (where === "/services") return Response.json({ leader: { epoch: 0 }, standbys: [] });
    return Response.json(where === "/timeline" ? TIMELINE : [device]);
  });
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      <DevicesPage />
    </QueryClientProvider>,
  );
}

afterEach(() => vi.unstubAllGlobals());

test("a device shows its state, its idle reason and its ensemble members", async () => {
  open("viewer");
  const row = (await screen.findByRole("rowheader", { name: /cpu-0/ })).closest("tr") as HTMLElement;
  expect(within(row).getByText("idle")).toBeVisible();
  expect(within(row).getByText(/no sweep is running · for 2 min/)).toBeVisible();
  expect(within(row).getByRole("link", { name: "<img src=x onerror=alert(1)>, trial 12" })).toHaveAttribute(
    "href",
    "/ensembles/3",
  );
  expect(await within(row).findByText("25 %")).toBeVisible();
  expect(screen.queryByRole("button", { name: "Drain cpu-0" })).toBeNull();
});

test("devices are grouped by machine once a node has joined", async () => {
  const reported_at = new Date((NOW - 1) * 1000).toISOString();
  open("viewer", DEVICE, "/devices", [{ ...{ name: "b", state: "ready", address: "10.0.0.6", reported_at } }]);
  expect(await screen.findByRole("rowheader", { name: "head" })).toBeVisible();
  expect(screen.getByRole("rowheader", { name: /^b.*10\.0\.0\.6/ })).toBeVisible();
});

test("the timeline describes its figures and can be shown as a table with links", async () => {
  open("viewer");
  expect(await screen.findByRole("img")).toHaveAccessibleName(
    /cpu-0 was busy 25 % of its available time with 1 trials/,
  );
  await userEvent.click(screen.getByRole("button", { name: "Show as table" }));
  expect(window.location.search).toBe("?as=table");
  expect(screen.getByRole("link", { name: "Trial 0 of resnet" })).toHaveAttribute("href", "/sweeps/1/trials/0");
  expect(screen.getByText("Idle: No sweep is running")).toBeVisible();
});

test("the zoom is stored in the URL and removed by Show all", async () => {
  open("viewer");
  await userEvent.click(await screen.findByRole("button", { name: "Zoom in" }));
  const wide = () => {
    const query = new URLSearchParams(window.location.search);
    return Number(query.get("to")) - Number(query.get("from"));
  };
  await waitFor(() => expect(wide()).toBeCloseTo(120, 0));
  await userEvent.click(screen.getByRole("button", { name: "Show all" }));
  await waitFor(() => expect(window.location.search).toBe(""));
});

test("an admin drains a device with a reason", async () => {
  HTMLDialogElement.prototype.showModal ??= () => undefined;
  open("admin");
  await userEvent.click(await screen.findByRole("button", { name: "Drain cpu-0" }));
  await userEvent.type(screen.getByLabelText("Reason"), "the fan is loud");
  await userEvent.click(screen.getByRole("button", { name: "Drain" }));
  expect(sent).toEqual([{ path: "/devices/cpu-0/drain", body: { reason: "the fan is loud" } }]);
});

test("an admin returns a drained device", async () => {
  open("admin", { ...DEVICE, state: "drained", reason: "the fan is loud" });
  await userEvent.click(await screen.findByRole("button", { name: "Return cpu-0" }));
  expect(sent).toEqual([{ path: "/devices/cpu-0/return", body: null }]);
});
