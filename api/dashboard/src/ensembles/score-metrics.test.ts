// Labels and formats of ensemble scores.
import { figure, formatChange, metricOf, metricsOf } from "./score-metrics";

test("scores are listed in a fixed order, without those that are missing everywhere", () => {
  const all = [{ brier: 0.2, accuracy: 0.9, rmse: null }, { log_loss: 0.3 }];
  expect(metricsOf(all).map(metric => metric.key)).toEqual(["accuracy", "log_loss", "brier"]);
});

test("an unknown score keeps its key as name", () => {
  expect(metricOf("f1")).toEqual({ key: "f1", name: "f1", better: "less" });
  expect(metricOf("accuracy").better).toBe("more");
});

test("a score that is not numeric counts as missing", () => {
  expect([figure({ a: "0.5" }, "a"), figure(null, "a"), figure(undefined, "a"), figure({ a: 0 }, "a")]).toEqual([
    null,
    null,
    null,
    0,
  ]);
});

test("differences have a sign", () => {
  expect([formatChange(0.0123), formatChange(-0.0123), formatChange(0)]).toEqual(["+0.0123", "−0.0123", "0.0000"]);
});
