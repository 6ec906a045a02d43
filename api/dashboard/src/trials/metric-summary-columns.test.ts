// Keys of figures of metrics: as columns, and in the filter language.
import { numberAxis } from "../charts/axis";
import { readBrushes, writeBrushes } from "../charts/brush-filter-terms";
import { suggest } from "./filter-suggestions";
import { figureInFilter, figureOf, figureOptions } from "./metric-summary-columns";

test.each([
  ["min(val/loss)", { figure: "min", metric: "val/loss" }],
  ["last_step(a (b))", { figure: "last_step", metric: "a (b)" }],
  ["mean(x)", null],
  ["params.min(x)", null],
])("%s is %j", (key, figure) => expect(figureOf(key)).toEqual(figure));

test("names with spaces and quotes are quoted in a filter", () => {
  expect(figureInFilter({ figure: "max", metric: "val/loss" })).toBe("max(val/loss)");
  expect(figureInFilter({ figure: "max", metric: 'a "b" (c)' })).toBe('max("a \\"b\\" (c)")');
  expect(figureOptions(["x"]).map(({ value }) => value)).toEqual(["last(x)", "min(x)", "max(x)"]);
});

test.each(["min(val/loss)", 'min(a "b" c)'])("a brush on %s is written and read", key => {
  const axis = numberAxis(key, key, [0, 1]);
  const text = writeBrushes("state:finished", { [key]: { low: 0.25, high: 0.5 } }, [axis]);
  expect(readBrushes(text, [axis])).toEqual({ base: "state:finished", brushes: { [key]: { low: 0.25, high: 0.5 } } });
});

test("the filter suggests metrics, figures of them, and then operators", () => {
  const known = { params: [], objectives: [], others: [], metrics: ["val loss", "train"] };
  const inserted = (text: string) => suggest(text, text.length, known).found.map(each => each.insert);
  expect(inserted("tr")[0]).toBe("train");
  expect(inserted("min(tr")).toEqual(["min(train)"]);
  expect(inserted("min(")).toContain('min("val loss")');
  expect(inserted("min(train)")).toEqual(["min(train)<", "min(train)>", "min(train):", "min(train)!="]);
});
