// Charts that appear together share requests, and a request is not larger than its response may be.

import { type GridParams, loadPanel, metricsPerRequest } from "./batch-panel-requests";
import { gridFixture, panelFixture } from "./fixture";

const PARAMS: GridParams = { filter: "", x: "step", x_scale: "linear", max_points: 400, limit: 10, show: "lines" };
const requested: string[][] = [];

beforeEach(() => {
  requested.length = 0;
  vi.stubGlobal("fetch", async (request: Request) => {
    const metrics = new URL(request.url).searchParams.getAll("metric");
    requested.push(metrics);
    if (metrics.includes("broken")) return Response.json({ detail: "it broke" }, { status: 500 });
    return Response.json(gridFixture([], { panels: metrics.map(name => panelFixture({ name })) }));
  });
});
afterEach(() => vi.unstubAllGlobals());

test("metrics that are wanted at the same time are one request", async () => {
  const found = await Promise.all(["a", "b", "a"].map(name => loadPanel(7, PARAMS, name)));
  expect(found.map(({ panel }) => panel.name)).toEqual(["a", "b", "a"]);
  expect(requested).toEqual([["a", "b"]]);
});

test("other settings and other sweeps are other requests", async () => {
  await Promise.all([
    loadPanel(7, PARAMS, "a"),
    loadPanel(7, { ...PARAMS, x: "time" }, "a"),
    loadPanel(8, PARAMS, "a"),
  ]);
  expect(requested).toHaveLength(3);
});

test("many curves are several requests", async () => {
  await Promise.all(["a", "b", "c"].map(name => loadPanel(7, { ...PARAMS, limit: 50 }, name)));
  expect(requested).toEqual([["a"], ["b"], ["c"]]);
  expect(metricsPerRequest(PARAMS)).toBe(5);
  expect(metricsPerRequest({ ...PARAMS, limit: 1 })).toBe(20);
  expect(metricsPerRequest({ ...PARAMS, limit: 1000, show: "bands" })).toBe(4);
});

test("a failed request fails each of its charts", async () => {
  const found = await Promise.allSettled(["a", "broken"].map(name => loadPanel(7, PARAMS, name)));
  expect(found.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
});
