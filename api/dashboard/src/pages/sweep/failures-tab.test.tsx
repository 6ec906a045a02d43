// Failed trials grouped by message: counts, devices, location and log; retried by group or all together.
import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { sweepFixture } from "../../sweep/fixture";
import { showWithService } from "../../testing/component-test-setup";
import { FailuresTab } from "./failures-tab";

const MEMORY = {
  params: {
    lr: { values: [0.5, 0.1, 0.2, 0.3], distinct: 9, min: 0.05, max: 1.25, finished: 2 },
    width: { values: [128, 32], distinct: 2, min: 32, max: 128 },
    optimizer: { values: ["sgd", "adam", "lion", "rmsprop"], distinct: 6, min: null, max: null },
  },
  ...{ cause: "device_memory", message: "cannot allocate <n> MiB", count: 3, devices: { "gpu-0": 1, "gpu-1": 2 } },
  ...{ trial_ids: [13, 12, 11], first_id: 11, first_number: 1, first_message: "cannot allocate 20 MiB" },
  ...{ location: "train.py:12 in fit", log: "epoch 1\nepoch 2" },
};
const OTHER = {
  params: {},
  ...{ cause: "user_error", message: "KeyError: 'lr'", count: 1, devices: { "gpu-0": 1 }, trial_ids: [20] },
  ...{ first_id: 20, first_number: 9, first_message: "KeyError: 'lr'", location: null, log: "" },
};

function show(changes: object = {}, role = "admin", query = "") {
  window.history.replaceState(null, "", `/sweeps/7/failures${query}`);
  return showWithService(
    <FailuresTab sweepId={7} />,
    {
      "GET /sweeps/7": sweepFixture({ id: 7, state: "finished" }),
      "GET /sweeps/7/failures": { failed: 4, examined: 4, groups: [MEMORY, OTHER], ...changes },
      ...Object.fromEntries([11, 12, 13, 20].map(id => [`POST /trials/${id}/retry`, { id }])),
    },
    role,
  );
}

const panelOf = async (text: string) => (await screen.findByText(text)).closest("section") as HTMLElement;

afterEach(() => vi.unstubAllGlobals());

test("a group shows its count, cause, place, devices, first trial and log", async () => {
  show();
  const panel = within(await panelOf("cannot allocate <n> MiB"));
  expect(panel.getByText("3 ×")).toBeVisible();
  expect(panel.getByText("Out of device memory · train.py:12 in fit")).toBeVisible();
  expect(panel.getByText("gpu-1 (2), gpu-0 (1)")).toBeVisible();
  expect(
    panel.getByText("lr 0.05 to 1.25 (2 finished there); width 32, 128; optimizer sgd, adam, lion, rmsprop, 2 more"),
  ).toBeVisible();
  expect(panel.getByRole("link", { name: "trial 1" })).toHaveAttribute("href", "/sweeps/7/trials/1");
  expect(panel.getByText(/cannot allocate 20 MiB/)).toBeVisible();
  expect(panel.getByText(/epoch 1\s+epoch 2/)).toBeInTheDocument();
  expect(screen.getByText("4 failed trials with 2 messages")).toBeVisible();
  const other = within(await panelOf("KeyError: 'lr'"));
  expect(other.queryByText(/End of the log/)).toBeNull();
  expect(other.queryByText("Parameters")).toBeNull();
});

test("the range of a parameter is apart for each value of the one that separates failed trials", async () => {
  const ranges = [
    { value: "adam", min: 0.05, max: 1.25, failed: 6, finished: 1 },
    { value: "sgd", min: 0.75, max: 1, failed: 5, finished: 0 },
  ];
  const lr = { ...MEMORY.params.lr, finished: 4, split: { parameter: "optimizer", ranges } };
  show({ groups: [{ ...MEMORY, params: { lr } }] });
  const ranged = "0.05 to 1.25 (1 finished there), sgd 0.75 to 1 (0 finished there)";
  expect(await screen.findByText(`lr 0.05 to 1.25 (4 finished there), by optimizer: adam ${ranged}`)).toBeVisible();
});

test("all failed trials are retried after a confirmation that names the restart", async () => {
  const sent = show();
  await userEvent.click(await screen.findByRole("button", { name: "Retry all" }));
  const dialog = within(document.querySelector("dialog") as HTMLElement);
  expect(dialog.getByText(/The sweep is finished; a retry restarts it/)).toBeInTheDocument();
  expect(sent.some(one => one.method === "POST")).toBe(false);
  await userEvent.click(dialog.getByText("Retry", { selector: "button" }));
  expect(await screen.findByText("4 trials queued for retry")).toBeVisible();
  expect(sent.filter(one => one.method === "POST").map(one => one.path)).toEqual(
    [13, 12, 11, 20].map(id => `/trials/${id}/retry`),
  );
});

test("one group is retried; what exceeds the limit is named", async () => {
  const sent = show({ failed: 904, groups: [{ ...MEMORY, count: 900 }] });
  await userEvent.click(await screen.findByRole("button", { name: "Retry 3" }));
  const dialog = within(document.querySelector("dialog") as HTMLElement);
  expect(dialog.getByText(/These are the newest 3 of 900/)).toBeInTheDocument();
  await userEvent.click(dialog.getByText("Retry", { selector: "button" }));
  expect(await screen.findByText("3 trials queued for retry")).toBeVisible();
  expect(sent.filter(one => one.method === "POST")).toHaveLength(3);
});

test("the sweep can be edited and run again", async () => {
  show();
  const [all, ...groups] = await screen.findAllByRole("link", { name: "Edit and rerun" });
  const seedsOf = (link: HTMLElement | undefined) =>
    new URL((link as HTMLAnchorElement).href, "http://podium").searchParams.get("seeds");
  expect(seedsOf(all)).toBe("state:failed");
  expect(groups.map(seedsOf)).toEqual([
    'state:failed cause:device_memory error:"cannot allocate <n> MiB"',
    `state:failed cause:user_error error:"KeyError: 'lr'"`,
  ]);
});

test("the filter is sent, and a viewer cannot retry", async () => {
  const sent = show({}, "viewer", "?filter=lr<0.1");
  await panelOf("KeyError: 'lr'");
  expect(screen.queryByRole("button", { name: /Retry/ })).toBeNull();
  expect(sent.find(one => one.path === "/sweeps/7/failures")?.query.get("filter")).toBe("lr<0.1");
});

test("without failures there is a message", async () => {
  show({ failed: 0, examined: 0, groups: [] });
  expect(await screen.findByRole("heading", { name: "No failures" })).toBeVisible();
});
