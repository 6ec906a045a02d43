// The trials of the charts are requested in parts, which must be of the same trials.
import { pointsOf } from "./fixture";
import { fetchPoints, merged } from "./points-in-parts";
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
const fetched = (figures: readonly string[]) => fetchPoints(7, "state:finished", figures, new AbortController().signal);

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
  expect(await fetched([])).toEqual(whole);
  expect(asked.map(query => query.getAll("part"))).toEqual([["trials"], ["parameters"], ["trials", "parameters"]]);
});

test("parts are merged only if all are of the same trials", () => {
  expect(merged([TRIALS, PARAMETERS])?.columns).toEqual({ ...TRIALS.columns, ...PARAMETERS.columns });
  expect(merged([TRIALS, { ...PARAMETERS, digest: "b" }])).toBeNull();
  expect(merged([])).toBeNull();
});
