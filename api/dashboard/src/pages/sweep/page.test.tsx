// The page of a sweep with its table and filter, against stubbed responses of the service.
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useKeyboard } from "../../keyboard";
import { select } from "../../selection";
import { sweepFixture } from "../../sweep/fixture";
import { ComparePage } from "./compare-page";
import { SweepPage } from "./page";

const PLANTED = "<img src=x onerror=alert(1)>";
const COUNT = 1_000;
const SWEEP = sweepFixture({
  spec: {
    metric: { name: "acc", goal: "maximize" },
    parameters: { lr: { min: 0.001, max: 0.1 }, optimizer: { values: ["adam", PLANTED] }, fixed: { value: 3 } },
  },
  counts: { finished: COUNT - 1, failed: 1 },
  best: { trial_id: 10_000, number: 0, value: 1, values: null, pareto: null, params: {} },
});

vi.setConfig({ testTimeout: 20_000 });

let asked: URLSearchParams[] = [];
let hasMetrics = true;
let sent: string[] = [];
let role = "admin";

function column<T>(offset: number, limit: number, of: (number: number) => T): T[] {
  return Array.from({ length: Math.max(0, Math.min(limit, COUNT - offset)) }, (_, at) => of(offset + at));
}

function tableOf(query: URLSearchParams): Response {
  asked.push(query);
  const filter = query.get("filter") ?? "";
  if (filter.includes("stat:")) {
    const detail = "at character 1: there is no 'stat' (did you mean state?); known are lr";
    return Response.json({ detail, position: 0, length: 4 }, { status: 400 });
  }
  if (query.get("sort") === "nothing") return Response.json({ detail: "cannot sort by 'nothing'" }, { status: 400 });
  const none = filter === "tag:none";
  const [offset, limit] = [Number(query.get("offset") ?? 0), none ? 0 : Number(query.get("limit"))];
  const all = <T,>(of: (number: number) => T) => column(offset, limit, of);
  const columns = {
    id: all(number => 10_000 + number),
    number: all(number => number),
    state: all(number => (number === 1 ? "failed" : "finished")),
    requested: all(() => null),
    value: all(number => (number === 1 ? null : 1 - number / COUNT)),
    violated: all(() => false),
    running_s: all(() => 2.5),
    ...figuresIn(query, all),
    device: all(() => "cpu-0"),
    cause: all(number => (number === 1 ? "non_finite" : null)),
    tags: all(() => [PLANTED]),
    "params.lr": all(() => 0.0123456),
    "params.optimizer": all(() => PLANTED),
    "params.fixed": all(() => 3),
  };
  const found = query.has("find") ? Number(query.get("find")) : null;
  return Response.json({ total: COUNT, matching: none ? 0 : filter ? 600 : COUNT, next: null, found, columns });
}

/** The requested figures of metrics; one of trial 1 is not finite. */
function figuresIn(query: URLSearchParams, all: <T>(of: (number: number) => T) => T[]): Record<string, unknown[]> {
  const keys = query.getAll("metrics");
  const marks = keys.map(key => key.replace(/^\w+\(/, "non_finite("));
  return {
    ...Object.fromEntries(keys.map(key => [key, all(number => (number === 1 ? null : number / 8))])),
    ...Object.fromEntries(marks.map(key => [key, all(number => (number === 1 ? 3 : 0))])),
  };
}

function serve(request: Request): Response {
  const url = new URL(request.url);
  if (request.method !== "GET") sent.push(`${request.method} ${url.pathname}`);
  if (url.pathname === "/api/v1/session") return Response.json({ name: "ann", role, expires_at: null });
  if (url.pathname === "/api/v1/sweeps/7") return Response.json(SWEEP);
  if (url.pathname === "/api/v1/sweeps/7/table") return tableOf(url.searchParams);
  if (url.pathname === "/api/v1/sweeps/7/metrics" && !hasMetrics) return Response.json([]);
  if (url.pathname === "/api/v1/sweeps/7/metrics")
    return Response.json([
      { name: "loss", goal: "minimize" },
      { name: 'val/"odd" loss', goal: null },
    ]);
  if (url.pathname === "/api/v1/trial-names")
    return Response.json(url.searchParams.getAll("trial").map(name => named(Number(name.replace("7.", "1000")))));
  const trial = /^\/api\/v1\/trials\/(\d+)(\/stop)?$/.exec(url.pathname);
  if (trial?.[2]) return Response.json({ detail: "a finished trial cannot be stopped" }, { status: 409 });
  if (trial) return Response.json(trialOf(Number(trial[1])));
  if (url.pathname === "/api/v1/sweeps/7/trial-counts") return Response.json({ counts: { finished: 599, failed: 1 } });
  if (url.pathname === "/api/v1/views") return Response.json([]);
  return Response.json({ metrics: [], metric: null, goal: null, matching: 0, curves: [] });
}

function named(id: number) {
  return { id, sweep_id: 7, number: id - 10_000 };
}

function trialOf(id: number): unknown {
  const number = id - 10_000;
  return {
    ...{ id, number, sweep_id: 7, state: "finished", value: 1 - number / COUNT, values: null, constraints: {} },
    ...{ user_attrs: {}, tags: [], sampler: "tpe", attempt: 1, requested: null, device: "cpu-0", cause: null },
    ...{ fallback_reason: null, fallback_error: null, proposed_for: null },
    params: { lr: 0.01 * (number + 1), optimizer: PLANTED },
    ...{ created_at: null, started_at: "2026-01-01T00:00:00Z", ended_at: "2026-01-01T00:00:05Z", note: "" },
    ...{ cloned_from: null, attempts: [], artifacts: [], unfit: null },
  };
}

function Keyed({ tab }: { tab: string }) {
  useKeyboard();
  return <SweepPage sweepId={7} tab={tab} />;
}

function open(query = "", page = <Keyed tab="table" />) {
  window.history.replaceState(null, "", `/sweeps/7/table${query}`);
  return render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: 2_000 } } })}>
      {page}
    </QueryClientProvider>,
  );
}

const rowOf = async (number: number) => (await screen.findByRole("link", { name: String(number) })).closest("tr");

beforeEach(() => {
  hasMetrics = true;
  asked = [];
  sent = [];
  role = "admin";
  act(() => select(7, []));
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(700); // there is no layout here
  vi.spyOn(HTMLElement.prototype, "clientWidth", "get").mockReturnValue(1000);
  vi.stubGlobal("fetch", async (request: Request) => serve(request));
  HTMLDialogElement.prototype.showModal ??= function (this: HTMLDialogElement) {
    this.open = true;
  };
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

test("the header shows the warnings of the sweep", async () => {
  const warnings = [{ code: "identical_results", message: "all trials report the same value", at: null }];
  vi.stubGlobal("fetch", async (request: Request) =>
    request.url.endsWith("/api/v1/sweeps/7") ? Response.json({ ...SWEEP, warnings }) : serve(request),
  );
  open();
  expect(await screen.findByText(/all trials report the same value/)).toBeVisible();
});

test("a row shows state, value, parameters and tags, with HTML in names as text", async () => {
  open();
  const row = within((await rowOf(0)) as HTMLElement);
  expect(row.getByRole("link", { name: "0" })).toHaveAttribute("href", "/sweeps/7/trials/0");
  expect(row.getByText("finished")).toBeVisible();
  expect(row.getByRole("img", { name: "best" })).toBeVisible();
  expect(row.getByText("0.01235")).toHaveAttribute("title", "0.0123456");
  // The tags, one tag, and the parameter; names are cut in the middle if they are too long.
  const planted = row.getAllByTitle(PLANTED);
  expect(planted.map(each => each.textContent)).toEqual([PLANTED, PLANTED, PLANTED]);
  expect(planted.filter(each => each.closest(".trials-tag"))).toHaveLength(1);
  expect(document.querySelector("img[src]")).toBeNull();
  expect(screen.queryByRole("columnheader", { name: "fixed" })).toBeNull();
  expect(screen.getByText("1,000 trials")).toBeVisible();
  expect(within((await rowOf(1)) as HTMLElement).getByText("non finite")).toBeVisible();
});

test("only rows in view are requested", async () => {
  open();
  await rowOf(0);
  expect(asked.filter(query => query.get("limit") === "100")).toHaveLength(1);
  expect(screen.getByText("1,000 trials")).toBeVisible();
  expect(asked, "the number of trials comes with the rows").toHaveLength(1);
  expect(screen.getAllByRole("row").length).toBeLessThan(60);
  expect(screen.getByRole("table")).toHaveAttribute("aria-rowcount", "1001");
});

test("the filter is stored in the URL, counted, and sent with requests", async () => {
  const user = userEvent.setup();
  open();
  await rowOf(0);
  await user.keyboard("/");
  await user.keyboard("lr<0.05{Enter}");
  expect(await screen.findByText("600 of 1,000 trials")).toBeVisible();
  expect(window.location.search).toBe("?filter=lr%3C0.05");
  expect(asked.some(query => query.get("filter") === "lr<0.05" && query.get("sort") === "best")).toBe(true);
  await user.click(await screen.findByRole("button", { name: "failed 1" }));
  expect(new URLSearchParams(window.location.search).get("filter")).toBe("lr<0.05 state:failed");
});

test("suggestions are accepted by keyboard", async () => {
  const user = userEvent.setup();
  open();
  await rowOf(0);
  const field = screen.getByRole("combobox", { name: "Filter trials" });
  await user.type(field, "opt{ArrowDown}{Enter}");
  expect(field).toHaveValue("optimizer:");
  expect(screen.getAllByRole("option").map(each => each.textContent)).toContain("adam");
  await user.keyboard("{ArrowDown}{Enter}");
  expect(field).toHaveValue("optimizer:adam");
});

test("an invalid filter is shown with its wrong part marked", async () => {
  open("?filter=stat:failed");
  expect(await screen.findByRole("alert")).toHaveTextContent("stat:failedthere is no 'stat' (did you mean state?)");
  expect(document.querySelector("mark")).toHaveTextContent("stat");
  expect(screen.getByText("Invalid filter")).toBeVisible();
});

test("an invalid order is not an invalid filter", async () => {
  open("?sort=nothing");
  expect(await screen.findByText("cannot sort by 'nothing'")).toBeVisible();
  expect(screen.queryByText("Invalid filter")).toBeNull();
});

test("a filter without matches can be cleared", async () => {
  const user = userEvent.setup();
  open("?filter=tag:none");
  await user.click(await screen.findByRole("button", { name: "Clear filter" }));
  await waitFor(() => expect(window.location.search).toBe(""));
  expect(await rowOf(0)).toBeVisible();
});

test("clicks on a column header sort ascending, descending, and by default again", async () => {
  const user = userEvent.setup();
  open();
  await rowOf(0);
  const sorts: (string | null)[] = [];
  for (const name of ["lr", "lr", "lr", /^acc/, /^acc/]) {
    await user.click(screen.getByRole("button", { name }));
    sorts.push(new URLSearchParams(window.location.search).get("sort"));
  }
  expect(sorts).toEqual(["params.lr", "-params.lr", null, "-best", null]);
  expect(screen.getByRole("columnheader", { name: /acc/ })).toHaveAttribute("aria-sort", "descending");
});

test("selected columns are stored in the URL", async () => {
  const user = userEvent.setup();
  open();
  await rowOf(0);
  await user.click(screen.getByLabelText("fixed"));
  expect(await screen.findByRole("columnheader", { name: "fixed" })).toBeVisible();
  expect(new URLSearchParams(window.location.search).get("columns")).toContain("params.fixed");
  await user.click(screen.getByRole("button", { name: "Reset columns" }));
  expect(new URLSearchParams(window.location.search).get("columns")).toBeNull();
});

test("keys move and select, and c compares the selected trials", async () => {
  const user = userEvent.setup();
  open();
  await rowOf(0);
  await user.keyboard("jx");
  await user.keyboard("jjkx");
  expect(await rowOf(1)).toHaveAttribute("aria-current", "true");
  expect(screen.getByText("2 selected")).toBeVisible();
  await user.keyboard("c");
  expect(window.location.pathname + window.location.search).toBe("/sweeps/7/compare?trials=10000,10001");
});

test("a range of trials is selected with the Shift key and stopped", async () => {
  const user = userEvent.setup();
  open();
  await rowOf(0);
  fireEvent.click(screen.getByLabelText("Select trial 1"));
  fireEvent.click(screen.getByLabelText("Select trial 4"), { shiftKey: true });
  const tools = within(screen.getByRole("region", { name: "Selected trials" }));
  expect(tools.getByText("4 selected")).toBeVisible();
  await user.click(tools.getByRole("button", { name: "Stop" }));
  await user.click(within(screen.getByRole("dialog")).getByRole("button", { name: "Stop" }));
  await waitFor(() => expect(sent).toHaveLength(4));
});

test("a range that includes rows never in view is selected completely", async () => {
  const frame = vi.spyOn(Element.prototype, "scrollTop", "get");
  open();
  await rowOf(0);
  fireEvent.click(screen.getByLabelText("Select trial 1"));
  frame.mockReturnValue(28 * 400);
  fireEvent.scroll(document.querySelector(".trials-frame") as HTMLElement);
  fireEvent.click(await screen.findByLabelText("Select trial 405"), { shiftKey: true });
  expect(await screen.findByText("405 selected")).toBeVisible();
});

test("Enter in the tag field adds the tag", async () => {
  const user = userEvent.setup();
  open();
  await rowOf(0);
  fireEvent.click(screen.getByLabelText("Select trial 1"));
  await user.click(screen.getByRole("button", { name: "Tag" }));
  expect(screen.getByLabelText("Tag")).toHaveFocus();
  await user.keyboard("keep{Enter}");
  await waitFor(() => expect(sent).toEqual(["PATCH /api/v1/trials/10001"]));
  await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
});

test("a finished sweep without curves shows a message", async () => {
  hasMetrics = false;
  vi.stubGlobal("fetch", async (request: Request) =>
    request.url.endsWith("/api/v1/sweeps/7") ? Response.json({ ...SWEEP, state: "finished" }) : serve(request),
  );
  open("", <SweepPage sweepId={7} tab="curves" />);
  expect(await screen.findByText("No curves")).toBeVisible();
});

test("a viewer can only select and compare trials", async () => {
  role = "viewer";
  open();
  await rowOf(0);
  fireEvent.click(screen.getByLabelText("Select trial 1"));
  const tools = within(screen.getByRole("region", { name: "Selected trials" }));
  const names = tools.getAllByRole("button").map(button => button.textContent);
  expect(names).toEqual(["Compare", "Add to comparison", "Clear selection"]);
});

test("the comparison shows differences from the first trial", async () => {
  const user = userEvent.setup();
  open("?trials=10000,10001,10002", <ComparePage sweepId={7} />);
  const lr = within((await screen.findByRole("rowheader", { name: "lr" })).closest("tr") as HTMLElement);
  expect(lr.getByText("+0.01")).toBeVisible();
  expect(screen.getByRole("rowheader", { name: "optimizer" })).toBeVisible();
  await user.click(screen.getByLabelText("Differences only"));
  await waitFor(() => expect(screen.queryByRole("rowheader", { name: "optimizer" })).toBeNull());
  await user.click(screen.getByRole("button", { name: "Remove trial 2" }));
  expect(new URLSearchParams(window.location.search).get("trials")).toBe("7.0,7.1");
});

test("a metric is added as a column, requested, marked where it is not finite, and kept for the next visit", async () => {
  localStorage.clear();
  open();
  await rowOf(0);
  const add = await screen.findByRole("combobox", { name: "Metric", hidden: true });
  await userEvent.selectOptions(screen.getByRole("combobox", { name: "Figure", hidden: true }), "min");
  await userEvent.click(add);
  await userEvent.type(add, "odd{Enter}");
  expect(await screen.findByRole("columnheader", { name: /^min\(val/ })).toBeVisible();
  expect(asked.at(-1)?.getAll("metrics")).toEqual(['min(val/"odd" loss)']);
  expect(await screen.findByRole("img", { name: "3 values are NaN or infinite" })).toBeVisible();
  cleanup();
  open();
  expect(await screen.findByRole("columnheader", { name: /^min\(val/ })).toBeVisible();
  localStorage.clear();
});

test("a column is widened by arrow keys, and moved in the menu", async () => {
  localStorage.clear();
  open();
  await rowOf(0);
  const edge = screen.getByRole("separator", { name: "Width of State" });
  const before = Number(edge.getAttribute("aria-valuenow"));
  edge.focus();
  await userEvent.keyboard("{ArrowRight}{ArrowRight}");
  expect(Number(edge.getAttribute("aria-valuenow"))).toBe(before + 32);
  expect(JSON.parse(localStorage.getItem("podium.column-widths.7") ?? "{}")).toEqual({ state: before + 32 });
  await userEvent.click(screen.getByTitle("Move State to the right"));
  const heads = screen.getAllByRole("columnheader").map(head => head.textContent);
  expect(heads.findIndex(head => head?.startsWith("State"))).toBe(3);
  localStorage.clear();
});
