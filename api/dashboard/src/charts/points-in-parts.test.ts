// The trials of the charts are requested in parts, which must be of the same trials.
import { pointsOf } from "./fixture";
import { fetchPoints, merged, withAllDigits } from "./points-in-parts";
import type { Points } from "./trial-columns";

const AXES = [{ name: "lr", kind: "number", log: false, constant: false }] as Points["axes"];
const TRIALS = pointsOf({ value: [1, 2] }, { digest: "a" });
const PARAMETERS: Points = { ...TRIALS, axes: AXES, columns: { "params.lr": [0.1, 0.2] } };
const METRICS: Points = { ...TRIALS, columns: { "min(loss)": [3, 4] } };

let asked: URLSearchParams[];

/** A service whose responses are chosen by the requested parts. */
function serve(respond: (parts: readonly string[]) => Points) {
  asked = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    const query = new URL(request.url).searchParams;
    asked.push(query);
    return Response.json(respond(query.getAll("part")));
  });
}

const byPart = ([part]: readonly string[]) =>
  part === "parameters" ? PARAMETERS : part === "metrics" ? METRICS : TRIALS;
const sourceOf = (figures: readonly string[]) => ({ sweepId: 7, filter: "state:finished", figures });
const fetched = (figures: readonly string[]) => fetchPoints(sourceOf(figures), 2);

afterEach(() => vi.unstubAllGlobals());

test("parts are requested separately and merged", async () => {
  serve(byPart);
  const points = await fetched(["min(loss)"]);
  expect(points.columns).toEqual({ ...TRIALS.columns, ...PARAMETERS.columns, ...METRICS.columns });
  expect(points.axes).toEqual(AXES);
  expect(asked.map(query => query.getAll("part"))).toEqual([["trials"], ["parameters"], ["metrics"]]);
  expect(asked.map(query => query.getAll("metrics"))).toEqual([[], [], ["min(loss)"]]);
  expect(asked.every(query => query.get("filter") === "state:finished")).toBe(true);
});

test("without figures, no part of metrics is requested", async () => {
  serve(byPart);
  expect(Object.keys((await fetched([])).columns)).toContain("params.lr");
  expect(asked.map(query => query.getAll("part"))).toEqual([["trials"], ["parameters"]]);
});

test("parts of different trials are not merged, and one request for all follows", async () => {
  const whole = pointsOf({ value: [1, 2, 3], "params.lr": [0.1, 0.2, 0.3] }, { digest: "b", axes: AXES });
  serve(parts => (parts.length > 1 ? whole : parts[0] === "trials" ? TRIALS : { ...PARAMETERS, digest: "b" }));
  expect(await fetched([])).toEqual({ ...whole, source: sourceOf([]) });
  expect(asked.map(query => query.getAll("part"))).toEqual([["trials"], ["parameters"], ["trials", "parameters"]]);
});

test("the points of a larger sweep are one request, since each would evaluate the filter for the sample", async () => {
  const whole = pointsOf({ value: [1, 2, 3], "params.lr": [0.1, 0.2, 0.3] }, { axes: AXES });
  serve(() => whole);
  expect(await fetchPoints(sourceOf(["min(loss)"]), 10_001)).toEqual({ ...whole, source: sourceOf(["min(loss)"]) });
  expect(asked.map(query => query.getAll("part"))).toEqual([["trials", "parameters", "metrics"]]);
});

test("parts are merged only if all are of the same trials", () => {
  expect(merged([TRIALS, PARAMETERS])?.columns).toEqual({ ...TRIALS.columns, ...PARAMETERS.columns });
  expect(merged([TRIALS, { ...PARAMETERS, digest: "b" }])).toBeNull();
  expect(merged([])).toBeNull();
});

test("for files, parameters and figures are fetched again with all digits", async () => {
  const columns = { value: [5, null], "params.lr": [0.1235, null], "min(loss)": [0.3, 0.4] };
  const points = { ...pointsOf(columns), source: sourceOf(["min(loss)"]) };
  const exact = {
    id: [101, 100, 99],
    value: [7, 7, 7],
    "params.lr": [1, 0.12345678, 2],
    "min(loss)": [0.401, 0.301, 9],
  };
  serve(() => pointsOf(exact));
  const found = await withAllDigits(points);
  expect(found.columns).toEqual({ ...points.columns, "params.lr": [0.12345678, null], "min(loss)": [0.301, 0.401] });
  expect(asked.map(query => query.get("digits"))).toEqual([null]);
  expect(asked[0]?.getAll("part")).toEqual(["trials", "parameters", "metrics"]);
});

test("for files, trials that match no more keep their digits", async () => {
  serve(() => pointsOf({ id: [100], "params.lr": [0.12345678] }));
  const found = await withAllDigits({ ...pointsOf({ "params.lr": [0.1235, 0.2] }), source: sourceOf([]) });
  expect(found.columns["params.lr"]).toEqual([0.12345678, 0.2]);
});
