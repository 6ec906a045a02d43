// What an address needs before the application runs.
import { needsOf } from "./address";

test.each([
  ["/", []],
  ["/login", []],
  ["/new", ["newSweep"]],
  ["/compare", ["compareSweeps"]],
  ["/devices", ["devices"]],
  ["/ensembles", ["ensembles"]],
  ["/ensembles/4", ["ensemble"]],
  ["/trials/17", ["trial"]],
  ["/sweeps/3/trials/17", ["trial"]],
  ["/sweeps/3/compare", ["compare"]],
  ["/sweeps/3", ["sweep"]],
  ["/sweeps/3/analysis", ["sweep", "analysisTab"]],
  ["/sweeps/3/curves", ["sweep", "curvesTab", "curveGrid"]],
  ["/sweeps/3/nothing", ["sweep"]],
  ["/sweeps/0", []],
  ["/sweeps/3/constructor", ["sweep"]],
])("%s needs the parts %j", (path, parts) => expect(needsOf(path, "").parts).toEqual(parts));

test("the table of a sweep needs its first rows, in the order and with the filter of the URL", () => {
  expect(needsOf("/sweeps/3", "").requests).toEqual([
    "/api/v1/session",
    "/api/v1/sweeps/3",
    "/api/v1/sweeps/3/table?sort=best&offset=0&limit=100",
  ]);
  const rows = needsOf("/sweeps/3/table", "?filter=lr%3C0.1%20tag%3Aa&sort=-number&columns=number,min(loss)")
    .requests[2];
  const query = new URL(rows ?? "", "http://podium").searchParams;
  expect(Object.fromEntries(query)).toEqual({
    ...{ filter: "lr<0.1 tag:a", sort: "-number", offset: "0", limit: "100" },
    metrics: "min(loss)",
  });
});

test("other tabs need the sweep only", () => {
  expect(needsOf("/sweeps/3/devices", "").requests).toEqual(["/api/v1/session", "/api/v1/sweeps/3"]);
});
