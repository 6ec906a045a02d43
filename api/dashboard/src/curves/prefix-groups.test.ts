// Metrics grouped by prefix, and found by words.
import { isFound, type MetricName, prefixGroups } from "./prefix-groups";

const named = (...names: string[]): MetricName[] => names.map(name => ({ name, goal: null }));

test("objectives come first, then metrics without a prefix, then prefixes by name", () => {
  const metrics: MetricName[] = [{ name: "val/loss", goal: "minimize" }, ...named("val/f1", "lr", "train/a/b", "/odd")];
  const found = prefixGroups(metrics, "").map(({ prefix, metrics: own }) => [prefix, own.map(({ name }) => name)]);
  expect(found).toEqual([
    ["objectives", ["val/loss"]],
    ["other metrics", ["lr", "/odd"]],
    ["train/", ["train/a/b"]],
    ["val/", ["val/f1"]],
  ]);
});

test("a search finds names with all words in any case", () => {
  expect(isFound("train/Grad_norm", "NORM train")).toBe(true);
  expect(isFound("train/Grad_norm", "norm val")).toBe(false);
  expect(prefixGroups(named("a/x", "b/x", "b/y"), "y")).toEqual([{ prefix: "b/", metrics: named("b/y") }]);
});
