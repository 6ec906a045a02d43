// The settings of the grid in the URL.
import { setRange, settingsOf, toggleIn } from "./settings";

beforeEach(() => window.history.replaceState(null, "", "/sweeps/7/curves"));

test("without a query all charts show lines by step", () => {
  const { x, range, smooth, logX, logY, bands, count, only } = settingsOf("");
  expect({ x, range, smooth, logX, logY, bands, count, only }).toEqual({
    ...{ x: "step", range: null, smooth: 0, logX: false, logY: false, bands: false, count: 50, only: "" },
  });
});

test("values that are not offered are ignored", () => {
  const found = settingsOf("?x=colour&from=5&to=2&smooth=7&curves=99999&log=1");
  expect(found.x).toBe("step");
  expect(found.range).toBeNull();
  expect(found.smooth).toBe(0.99);
  expect(found.count).toBe(50);
  expect([found.logX, found.logY]).toEqual([false, true]); // as in an earlier version
});

test("a range and names with commas survive the URL", () => {
  setRange({ from: 0.1 + 0.2, to: 1e9 });
  toggleIn("hide", new Set(), "a, b");
  toggleIn("hide", settingsOf(window.location.search).hidden, "c/d");
  const found = settingsOf(window.location.search);
  expect(found.range).toEqual({ from: 0.3, to: 1e9 });
  expect([...found.hidden]).toEqual(["a, b", "c/d"]);
  toggleIn("hide", found.hidden, "a, b");
  expect([...settingsOf(window.location.search).hidden]).toEqual(["c/d"]);
  setRange(null);
  expect(settingsOf(window.location.search).range).toBeNull();
});

test("a name that was encoded badly by hand is kept", () => {
  expect([...settingsOf("?hide=50%25").hidden]).toEqual(["50%"]);
});
