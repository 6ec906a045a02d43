// Resources of a trial and of devices: what was measured, the limit, ranks, and what is shown without samples.
import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import type { Trial } from "../pages/trial/queries";
import { showWithService, stubSize } from "../testing/component-test-setup";
import { recordingContext } from "../testing/recording-canvas";
import { formatMeasure, formatMegabytes, pointsOf } from "./measures";
import type { Samples } from "./queries";
import { Resources } from "./trial-resources";
import { DeviceUsage, drawLane } from "./trial-usage-by-device";

const samples = (memory: number[], more: Partial<Samples> = {}): Samples => {
  const none = memory.map(() => null);
  return {
    at: memory.map((_, index) => 101 + index),
    span_s: memory.map(() => 1),
    cpu_cores: memory.map(() => 0.5),
    memory_mb: memory,
    read_mb_s: memory.map(() => 2),
    written_mb_s: memory.map(() => 0),
    gpu_percent: none,
    gpu_memory_mb: none,
    ...more,
  };
};
const attempt = (changes: object = {}) => ({ number: 1, ended_at: "2026-01-01T00:00:20Z", cause: null, ...changes });
const trial = (changes: object = {}, ...attempts: object[]) =>
  ({ id: 7, attempt: 1, attempts: attempts.length > 0 ? attempts : [attempt()], ...changes }) as unknown as Trial;
const usage = (total: Samples, more: object = {}) => ({
  "GET /trials/7/usage": {
    ...{ attempt: 1, memory_limit_mb: 500, gpu_memory_limit_mb: null, total, ranks: [] },
    ...more,
  },
});

beforeEach(() => {
  window.history.replaceState(null, "", "/trials/7");
  stubSize(400);
});
afterEach(() => vi.unstubAllGlobals());

test("what was measured is drawn, with the limit of the memory", async () => {
  showWithService(<Resources trial={trial()} />, usage(samples([100, 450, 300])));
  expect(
    await screen.findByRole("img", { name: "Memory: memory at most 450 MB, last 300 MB; the limit is 500 MB" }),
  ).toBeVisible();
  expect(screen.getByRole("img", { name: "Processor: cores at most 0.5 cores, last 0.5 cores" })).toBeVisible();
  expect(screen.getByRole("img", { name: /^Storage: read at most 2 MB\/s, last 2 MB\/s; written/ })).toBeVisible();
  expect(screen.queryByRole("img", { name: /GPU/ })).toBeNull();
});

test("a GPU has charts of its own", async () => {
  const gpu = { gpu_percent: [50, 80], gpu_memory_mb: [20_480, 40_960] };
  showWithService(<Resources trial={trial()} />, usage(samples([100, 200], gpu)));
  expect(
    await screen.findByRole("img", { name: "GPU utilization: utilization at most 80 %, last 80 %" }),
  ).toBeVisible();
  expect(screen.getByRole("img", { name: "GPU memory: memory at most 40.0 GB, last 40.0 GB" })).toBeVisible();
});

test("the sum over all ranks has no limit, a rank has its own", async () => {
  const ranks = [0, 1].map(rank => ({ rank, device: `gpu-${rank}`, samples: samples([100 + 100 * rank]) }));
  showWithService(<Resources trial={trial()} />, usage(samples([300]), { ranks }));
  expect(await screen.findByRole("img", { name: "Memory: memory at most 300 MB, last 300 MB" })).toBeVisible();
  await userEvent.selectOptions(screen.getByLabelText("Show"), "rank 1 on gpu-1");
  expect(screen.getByRole("img", { name: /^Memory: memory at most 200 MB.*the limit is 500 MB$/ })).toBeVisible();
});

test("samples are listed as a table, newest first", async () => {
  showWithService(<Resources trial={trial()} />, usage(samples([100, 450])));
  const table = await screen.findByRole("table", { hidden: true });
  const rows = within(table).getAllByRole("row", { hidden: true });
  expect(rows.map(row => row.textContent?.slice(0, 14))).toEqual([
    "AfterMemoryPro",
    "2.0 s450 MB0.5",
    "1.0 s100 MB0.5",
  ]);
});

test("the attempt of the log is shown", async () => {
  window.history.replaceState(null, "", "/trials/7?attempt=1");
  const sent = showWithService(
    <Resources trial={trial({ attempt: 2 }, attempt(), attempt({ number: 2 }))} />,
    usage(samples([100])),
  );
  expect(await screen.findByText("of attempt 1")).toBeVisible();
  expect(sent[0]?.query.get("attempt")).toBe("1");
});

test("missing samples are explained", async () => {
  showWithService(<Resources trial={trial()} />, usage(samples([])));
  expect(await screen.findByText(/^Not measured: the attempt ended within a quarter of a second/)).toBeVisible();
});

test("a trial that waits for its device has no resources", () => {
  const sent = showWithService(<Resources trial={trial({ attempt: 0, attempts: [] })} />);
  expect(screen.queryByText("Resources")).toBeNull();
  expect(sent.filter(({ query }) => query.get("attempt") !== null)).toEqual([]);
});

test("devices are drawn in the order of the timeline, with their highest values", async () => {
  const device = {
    ...{ id: "cpu-1", since: [40, 50], at: [50, 60], cpu_cores: [1, 2], memory_mb: [300, 200] },
    ...{ gpu_percent: [null, null], gpu_memory_mb: [null, null] },
  };
  showWithService(<DeviceUsage devices={["cpu-0", "cpu-1"]} span={{ from: 0, to: 100 }} live={false} />, {
    "GET /timeline/usage": { from_s: 0, to_s: 100, devices: [device] },
  });
  expect(await screen.findByRole("img", { name: "Memory: cpu-0 at most –; cpu-1 at most 300 MB" })).toBeVisible();
  await userEvent.selectOptions(screen.getByLabelText("Show"), "Processor");
  expect(screen.getByRole("img", { name: "Processor: cpu-0 at most –; cpu-1 at most 2 cores" })).toBeVisible();
});

test.each([
  ["samples of ten seconds follow each other", [0, 10, 20], 1],
  ["nothing was measured for half a minute", [0, 10, 50], 2],
])("%s: the line has as many parts", (_, since, parts) => {
  const { context, named } = recordingContext();
  const at = since.map(start => start + 10);
  const none = at.map(() => null);
  const lane = { id: "cpu-0", since, at, cpu_cores: [1, 1, 1], memory_mb: [10, 20, 30], gpu_percent: none };
  const drawn = { lane: { ...lane, gpu_memory_mb: none }, index: 0, width: 300, span: { from: 0, to: 100 }, top: 30 };
  drawLane(context, { ...drawn, key: "memory_mb" });
  expect(named("moveTo")).toHaveLength(1 + parts); // also the ground
});

test("a time range without samples says so", async () => {
  showWithService(<DeviceUsage devices={["cpu-0"]} span={{ from: 0, to: 100 }} live={false} />, {
    "GET /timeline/usage": { from_s: 0, to_s: 100, devices: [] },
  });
  expect(await screen.findByText("No trial was measured in this time range.")).toBeVisible();
});

test("values have units", () => {
  expect([9.4, 812.3, 2048, 20_480].map(formatMegabytes)).toEqual(["9.4 MB", "812 MB", "2,048 MB", "20.0 GB"]);
  expect(formatMeasure(1.5, "cores")).toBe("1.5 cores");
  expect(formatMeasure(null, "%")).toBe("–");
  expect(pointsOf(samples([5, 6], { gpu_percent: [null, 30] }), "gpu_percent")).toEqual([[2, 30]]);
});
