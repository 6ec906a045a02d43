// The page of a trial against stubbed responses of the service: what it shows and requests.
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import type { ReactNode } from "react";
import { TrialPage, TrialRedirect } from "./trial";

const PLANTED = "<img src=x onerror=alert(1)>";
const ATTEMPT = {
  number: 1,
  device: "cpu-0",
  node: "n",
  pid: 41,
  visible_devices: "",
  torch_device: "cpu",
  import_s: 1.5,
  started_at: "2026-11-21T10:00:00Z",
  ended_at: "2026-11-21T10:00:20Z",
  duration_s: 20,
  state: "failed",
  cause: "user_error",
  message: `ValueError: ${PLANTED}`,
  traceback: "Traceback\n  line 8",
  log_tail: null,
  exit: "0",
  late_prune_answers: 0,
  orphans_killed: 0,
};
const TRIAL = {
  id: 7,
  sweep_id: 3,
  number: 4,
  state: "failed",
  value: null,
  values: null,
  constraints: {},
  user_attrs: {},
  tags: ["keep"],
  params: { batch: 32, lr: 0.02, optimizer: PLANTED },
  sampler: "tpe",
  fallback_reason: null as string | null,
  fallback_error: null as string | null,
  proposed_for: null as number | null,
  attempt: 1,
  requested: null,
  device: "cpu-0",
  cause: "user_error",
  created_at: "2026-11-21T10:00:00Z",
  started_at: "2026-11-21T10:00:00Z",
  ended_at: "2026-11-21T10:00:20Z",
  note: "",
  cloned_from: null,
  attempts: [ATTEMPT],
  artifacts: [],
  unfit: null,
  peak_memory_mb: null,
  peak_gpu_memory_mb: null,
};
const NO_USAGE = {
  attempt: 1,
  memory_limit_mb: null,
  gpu_memory_limit_mb: null,
  total: {
    ...{ at: [], span_s: [], cpu_cores: [], memory_mb: [], read_mb_s: [], written_mb_s: [] },
    ...{ gpu_percent: [], gpu_memory_mb: [] },
  },
  ranks: [],
};
const SWEEP = {
  id: 3,
  name: PLANTED,
  state: "running",
  spec: { metric: { name: "loss", goal: "minimize" }, parameters: { lr: { min: 1e-4, max: 0.1, log: true } } },
  best: { trial_id: 5, number: 2, value: 0.5, values: null, pareto: null, params: { lr: 0.01, optimizer: "adam" } },
};

const INTERVALS = [
  { trial_id: 5, trial: 2, interval: 1, params: { lr: 0.02 }, donor: null, step: 4, value: 0.7 },
  { trial_id: 7, trial: 4, interval: 2, params: { lr: 0.024 }, donor: 2, step: null, value: null },
];

let asked: [string, string][] = [];
let role = "admin";
let population: Record<string, number> | null = null;
let changes: Record<string, Record<string, unknown>> = {};

function serve(request: Request, body: string): Response {
  const url = new URL(request.url);
  const route = `${request.method} ${url.pathname}`;
  if (request.method !== "GET") asked.push([route, body]);
  if (route in changes) return Response.json({ ...TRIAL, ...changes[route] });
  if (route === "GET /api/v1/session") return Response.json({ name: "ann", role, expires_at: null });
  if (["GET /api/v1/trials/7", "GET /api/v1/sweeps/3/trials/4"].includes(route)) return Response.json(TRIAL);
  if (route === "GET /api/v1/trials/7/metrics") return Response.json({});
  if (route === "GET /api/v1/sweeps/3/metrics") return Response.json([]);
  if (route === "GET /api/v1/trials/7/usage") return Response.json(NO_USAGE);
  if (route === "GET /api/v1/sweeps/3") return Response.json({ ...SWEEP, population });
  if (route === "GET /api/v1/trials/7/schedule") return Response.json({ intervals: INTERVALS, replay: {} });
  if (route === "GET /api/v1/sweeps/3/trials")
    return Response.json({
      items: [
        { id: 6, number: 3 },
        { id: 7, number: 4 },
      ],
      next: null,
    });
  if (route === "GET /api/v1/trials/7/log")
    return new Response("first line\nsecond line\n", { headers: { "Podium-Next-Byte": "23" } });
  if (route === "POST /api/v1/trials/7/clone") {
    const errors = [{ location: ["params", "lr"], message: "9 is above max 0.1" }];
    return Response.json({ detail: "params.lr: 9 is above max 0.1", errors }, { status: 422 });
  }
  return Response.json({ detail: `there is no trial 9` }, { status: 404 });
}

function showPage(page: ReactNode) {
  return render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      {page}
    </QueryClientProvider>,
  );
}

function open(number = 4) {
  window.history.replaceState(null, "", `/sweeps/3/trials/${number}`);
  return showPage(<TrialPage sweepId={3} number={number} />);
}

beforeEach(() => {
  asked = [];
  changes = {};
  role = "admin";
  population = null;
  vi.stubGlobal("fetch", async (request: Request) => serve(request, await request.text()));
  HTMLDialogElement.prototype.showModal ??= function (this: HTMLDialogElement) {
    this.open = true;
  };
});

afterEach(() => vi.unstubAllGlobals());

test("a failed trial shows its cause and the difference from the best trial, with HTML as text", async () => {
  const { container } = open();
  expect(await screen.findByRole("heading", { level: 1 })).toHaveTextContent("Trial 4");
  expect(screen.getAllByText("Exception").length).toBeGreaterThan(0);
  const row = (await screen.findByRole("rowheader", { name: "lr" })).closest("tr") as HTMLElement;
  expect(await within(row).findByText("×2")).toBeVisible();
  expect(screen.getByRole("link", { name: "Best (trial 2)" })).toHaveAttribute("href", "/sweeps/3/trials/2");
  expect(screen.getByText(`ValueError: ${PLANTED}`)).toBeVisible();
  expect(await screen.findByText(/second line/)).toBeVisible();
  expect(await screen.findByRole("link", { name: "Previous trial (k)" })).toHaveAttribute("href", "/sweeps/3/trials/3");
  expect(container.querySelector("img")).toBeNull();
});

test("a trial of a population shows its schedule, with links to the trials that it continued", async () => {
  population = { trials: 4, intervals: 7, exploits: 1, fewest: 1, most: 2 };
  open();
  expect(await screen.findByRole("link", { name: "2" })).toHaveAttribute("href", "/sweeps/3/trials/2");
  expect(screen.getByRole("cell", { name: "0.024" })).toBeVisible();
  expect(screen.getByText("podium trial schedule 7 --replay")).toBeVisible();
});

test("parameters are in the order of the sweep file, others come after them", async () => {
  open();
  await screen.findByRole("link", { name: "Best (trial 2)" });
  const rows = within(screen.getByRole("table")).getAllByRole("rowheader");
  expect(rows.map(row => row.textContent)).toEqual(["lr", "batch", "optimizer"]);
});

test("a note and tags are saved, each by one request", async () => {
  const user = userEvent.setup();
  changes["PATCH /api/v1/trials/7"] = { tags: ["keep", "odd"] };
  open();
  await user.type(await screen.findByLabelText("New tag"), "odd small{Enter}");
  await user.type(screen.getByLabelText("Note"), "odd");
  changes["PATCH /api/v1/trials/7"] = { tags: ["keep", "odd"], note: "odd" };
  await user.click(screen.getByRole("button", { name: "Save" }));
  await waitFor(() => expect(screen.queryByRole("button", { name: "Save" })).toBeNull());
  expect(asked.map(([, body]) => JSON.parse(body))).toEqual([{ add_tags: ["odd", "small"] }, { note: "odd" }]);
  await user.click(screen.getByRole("button", { name: "Remove tag keep" }));
  expect(JSON.parse(asked.at(-1)?.[1] ?? "")).toEqual({ remove_tags: ["keep"] });
});

test("a clone sends only changed parameters, and a refusal is shown at its field", async () => {
  const user = userEvent.setup();
  open();
  await user.click(await screen.findByRole("button", { name: "Clone…" }));
  const field = screen.getByLabelText(/^lr/);
  await user.clear(field);
  await user.type(field, "9");
  await user.click(screen.getByRole("button", { name: "Clone with 1 change" }));
  expect(await screen.findByText("9 is above max 0.1")).toBeVisible();
  expect(asked).toEqual([["POST /api/v1/trials/7/clone", '{"params":{"lr":9}}']]);
});

test("a failed trial is retried", async () => {
  changes["POST /api/v1/trials/7/retry"] = { requested: "retry" };
  open();
  await userEvent.click(await screen.findByRole("button", { name: "Retry" }));
  expect(await screen.findByText("retrying")).toBeVisible();
  expect(screen.queryByRole("button", { name: "Retry" })).toBeNull();
});

test("a retry that restarts a finished sweep is confirmed first", async () => {
  changes["GET /api/v1/sweeps/3"] = { ...SWEEP, state: "finished" };
  changes["POST /api/v1/trials/7/retry"] = { requested: "retry" };
  open();
  await userEvent.click(await screen.findByRole("button", { name: "Retry…" }));
  expect(screen.getByText(/The sweep is finished; a retry restarts it\./)).toBeVisible();
  expect(asked).toEqual([]);
  const dialog = within(screen.getByRole("dialog"));
  await userEvent.click(dialog.getByRole("button", { name: "Retry" }));
  expect(await screen.findByText("retrying")).toBeVisible();
  expect(asked.map(([route]) => route)).toEqual(["POST /api/v1/trials/7/retry"]);
});

test("a viewer is shown no controls", async () => {
  role = "viewer";
  open();
  expect(await screen.findByText(/second line/)).toBeVisible();
  for (const name of ["Retry", "Clone…", "Add", "Remove tag keep"])
    expect(screen.queryByRole("button", { name })).toBeNull();
  expect(screen.getByLabelText("Note")).toHaveAttribute("readonly");
});

test("the log is searched, and the search text is stored in the URL", async () => {
  const user = userEvent.setup();
  open();
  await screen.findByText(/second line/);
  await user.type(screen.getByLabelText("Find in the log"), "LINE");
  expect(await screen.findByText("1 of 2")).toBeVisible();
  await user.keyboard("{Enter}");
  expect(screen.getByText("2 of 2")).toBeVisible();
  expect(window.location.search).toBe("?find=LINE");
});

test("a missing trial shows a message and sets the title", async () => {
  document.title = "Another page · Podium";
  open(9);
  expect(await screen.findByRole("heading", { name: "Trial 9 of sweep 3 not found" })).toBeVisible();
  expect(document.title).toBe("Trial 9 of sweep 3 not found · Podium");
});

test("an address with the id of a trial leads to the one with its number, with the view", async () => {
  window.history.replaceState(null, "", "/trials/7?attempt=1");
  showPage(<TrialRedirect trialId={7} />);
  await vi.waitFor(() => expect(window.location.pathname).toBe("/sweeps/3/trials/4"));
  expect(window.location.search).toBe("?attempt=1");
});

test("an address with an unknown id says so", async () => {
  showPage(<TrialRedirect trialId={9} />);
  expect(await screen.findByRole("heading", { name: "Trial id 9 not found" })).toBeVisible();
});

test("a trial that was sampled at random instead says why", async () => {
  changes = { "GET /api/v1/trials/7": { sampler: "random", fallback_reason: "slow" } };
  open();
  expect(await screen.findByText("because the method had proposed nothing by the deadline")).toBeVisible();
});
