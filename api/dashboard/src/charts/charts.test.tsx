// Descriptions and keyboard control of charts: history, contour, curves, importance.
import { fireEvent, render, screen } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import { type Axis, numberAxis } from "./axis";
import { Contour } from "./contour";
import { Curves } from "./curves";
import { pointsOf } from "./fixture";
import { History } from "./history";
import { Importance, type ImportanceView } from "./importance";

const NOBODY: ReadonlySet<number> = new Set();

test("history describes its best trial, and arrow keys move through the trials", () => {
  const onActive = vi.fn();
  const points = pointsOf({ value: [0.5, 0.25, 0.75] });
  const metric = numberAxis("value", "loss", [0, 1], { goal: "minimize" });
  const shared = { points, metric, log: false, inside: Uint8Array.from([1, 1, 1]), selected: NOBODY, onActive };
  render(<History {...shared} by="number" active={1} />);
  expect(screen.getByRole("img", { name: /Best 0.25, by trial 1, after 2 improvements/ })).toBeInTheDocument();
  expect(screen.queryByText("Trial 1 · finished")).toBeNull(); // another chart shows the tooltip
  fireEvent.pointerEnter(screen.getByRole("group"));
  expect(screen.getByText("Trial 1 · finished")).toBeInTheDocument();
  fireEvent.keyDown(screen.getByRole("group"), { key: "ArrowRight" });
  expect(onActive).toHaveBeenLastCalledWith(2);
  fireEvent.keyDown(screen.getByRole("group"), { key: "Escape" });
  expect(onActive).toHaveBeenLastCalledWith(null);
});

test("a contour of few trials has no surface and shows the reason", () => {
  const [x, y] = ["a", "b"].map(name => numberAxis(`params.${name}`, name, [0, 1])) as [Axis, Axis];
  const metric = numberAxis("value", "loss", [0, 1], { goal: "minimize" });
  const show = (count: number) => {
    const values = Array.from({ length: count }, (_, row) => row / count);
    const points = pointsOf({ "params.a": values, "params.b": values, value: values });
    const inside = new Uint8Array(count).fill(1);
    const shared = { x, y, metric, active: null, onActive: vi.fn() };
    render(<Contour points={points} shares={Float64Array.from(values)} inside={inside} {...shared} />);
  };
  show(5);
  expect(screen.getByText(/Surface needs 20 finished trials \(5 so far\)/)).toBeInTheDocument();
  expect(screen.queryByText(/blank where no trial is near/)).toBeNull();
  show(20);
  expect(screen.getByText(/blank where no trial is near/)).toBeInTheDocument();
});

test("the highlighted curve has a tooltip, and Enter opens its trial", () => {
  const [onHover, onOpen] = [vi.fn(), vi.fn()];
  const curves = [7, 8].map(id => ({
    trial_id: id,
    number: id,
    state: "finished",
    points: 2,
    steps: [0, 1],
    values: [1, id / 10],
  }));
  render(<Curves curves={curves} metric="loss" goal="minimize" highlighted={8} onHover={onHover} onOpen={onOpen} />);
  const chart = screen.getByRole("group", { name: /2 trials. Best value 0.7/ });
  fireEvent.pointerEnter(chart);
  expect(screen.getByText("Trial 8 · finished")).toBeInTheDocument();
  fireEvent.keyDown(chart, { key: "ArrowLeft" });
  expect(onHover).toHaveBeenCalledWith(7);
  fireEvent.keyDown(chart, { key: "Enter" });
  expect(onOpen).toHaveBeenCalledWith(8);
});

test("importance is a table with its age and the parameters that it omits", () => {
  const importance: ImportanceView = {
    metric: "loss",
    state: "computing",
    reason: "",
    finished: 1500,
    as_of: 1000,
    trials: 400,
    computed_at: null,
    importances: { lr: 0.75, width: 0.25 },
    left_out: { momentum: "active in 3 of 400 trials" },
  };
  const { rerender } = render(<Importance importance={importance} filtered={false} />);
  expect(screen.getByRole("row", { name: "lr 75.0 %" })).toBeInTheDocument();
  expect(screen.getByText(/Based on 1,000 finished trials, from a sample of 400. Updating: 1,500/)).toBeInTheDocument();
  expect(screen.getByText("1 not computed")).toBeInTheDocument();
  expect(screen.queryByText(/filter/)).toBeNull();
  rerender(<Importance importance={importance} filtered />);
  expect(screen.getByText(/from a sample of 400. The filter does not apply. Updating/)).toBeInTheDocument();
});
