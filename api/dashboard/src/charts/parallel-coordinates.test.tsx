// Keyboard control of parallel coordinates: brushes, choices, the order of the axes.
import { fireEvent, render, screen } from "@testing-library/react";
import { useState } from "react";
import { beforeAll, expect, test, vi } from "vitest";
import { type Axis, numberAxis } from "./axis";
import { rankingOf } from "./best-parallel-lines";
import type { Brushes } from "./brush-filter-terms";
import { isAbsentOn, linesOf, placeY } from "./draw-parallel-lines";
import { pointsOf } from "./fixture";
import { Parallel } from "./parallel-coordinates";

const LR = numberAxis("params.lr", "lr", [0, 1]);
const OPTIMIZER: Axis = { ...LR, key: "params.optimizer", name: "optimizer", kind: "choice", choices: ["adam", "sgd"] };
const POINTS = pointsOf({ "params.lr": [0, 0.5, 1], "params.optimizer": ["adam", "sgd", "adam"], value: [1, 2, 3] });

beforeAll(() => {
  class Sized {
    constructor(private readonly tell: ResizeObserverCallback) {}
    observe() {
      this.tell(
        [{ contentRect: { width: 600, height: 400 } } as ResizeObserverEntry],
        this as unknown as ResizeObserver,
      );
    }
    disconnect() {}
    unobserve() {}
  }
  vi.stubGlobal("ResizeObserver", Sized);
});

function show(first: Brushes = {}, points = POINTS) {
  const [onBrushes, onOrder] = [vi.fn(), vi.fn()];
  function Brushed() {
    const [brushes, setBrushes] = useState(first);
    return (
      <Parallel
        points={points}
        axes={[LR, OPTIMIZER]}
        shares={new Float64Array([1, 0.5, 0])}
        ranking={rankingOf(points, { ...LR, key: "value", goal: "maximize" })}
        brushes={brushes}
        active={null}
        chosen={[]}
        onBrushes={(next, isDone) => {
          onBrushes(next, isDone);
          setBrushes(next);
        }}
        onActive={vi.fn()}
        legend={[]}
        onOrder={onOrder}
      />
    );
  }
  render(<Brushed />);
  return { onBrushes, onOrder };
}

test("an arrow key moves an end of the brush and announces its position", () => {
  const { onBrushes } = show();
  const lowest = screen.getByRole("slider", { name: "lr, lowest" });
  expect(lowest).toHaveAttribute("aria-valuetext", "0");
  fireEvent.keyDown(lowest, { key: "PageUp" });
  expect(onBrushes).toHaveBeenCalledWith({ "params.lr": { low: 0.125, high: 1 } }, true);
  expect(screen.getByText("2 of 3 trials")).toBeInTheDocument();
  fireEvent.keyDown(lowest, { key: "ArrowUp" });
  expect(onBrushes).toHaveBeenLastCalledWith({ "params.lr": { low: expect.closeTo(0.15), high: 1 } }, true);
});

test("a brush over the whole axis, or Delete, removes the brush", () => {
  const { onBrushes } = show({ "params.lr": { low: 0.5, high: 1 } });
  const lowest = screen.getByRole("slider", { name: "lr, lowest" });
  fireEvent.keyDown(lowest, { key: "Home" });
  fireEvent.keyDown(lowest, { key: "Delete" });
  expect(onBrushes.mock.calls).toEqual([
    [{}, true],
    [{}, true],
  ]);
});

test("one end of a brush cannot pass the other", () => {
  const { onBrushes } = show({ "params.lr": { low: 0.2, high: 0.4 } });
  fireEvent.keyDown(screen.getByRole("slider", { name: "lr, lowest" }), { key: "End" });
  expect(onBrushes).toHaveBeenCalledWith(
    { "params.lr": { low: expect.closeTo(0.4), high: expect.closeTo(0.4) } },
    true,
  );
});

test("choices are toggle buttons", () => {
  const { onBrushes } = show({ "params.optimizer": { choices: ["adam"] } });
  const adam = screen.getByRole("button", { name: "optimizer: adam" });
  expect(adam).toHaveAttribute("aria-pressed", "true");
  expect(screen.getByText("2 of 3 trials")).toBeInTheDocument();
  fireEvent.click(adam);
  expect(onBrushes).toHaveBeenCalledWith({}, true);
});

test("arrow keys on the name of an axis move it", () => {
  const { onOrder } = show();
  fireEvent.keyDown(screen.getByRole("button", { name: "lr" }), { key: "ArrowRight" });
  expect(onOrder).toHaveBeenCalledWith(["params.optimizer", "params.lr"]);
});

test("a line continues below the axis of an inactive parameter and ends where there is no result", () => {
  const points = pointsOf({ "params.lr": [0, null], value: [1, null] });
  const lines = linesOf(points, [LR, numberAxis("value", "value", [0, 1])]);
  expect(lines.places.map(places => Number.isNaN(places[1]))).toEqual([false, true]);
  expect(placeY(lines.places[0]?.[1] as number, 400)).toBeGreaterThan(placeY(0, 400));
  expect([0, 1].map(index => isAbsentOn(lines, index))).toEqual([true, false]);
});

test("of thousands of trials, the best are highlighted and in the legend", () => {
  const count = 2_000;
  const column = Array.from({ length: count }, (_, row) => row / count);
  const optimizers = column.map(() => "adam");
  const rows = { "params.lr": column, "params.optimizer": optimizers, value: column };
  show({ "params.lr": { low: 0, high: 0.1 } }, pointsOf(rows));
  expect(screen.getByText("the 20 best")).toBeVisible();
});

test("of a few trials, each is visible: none is highlighted", () => {
  show();
  expect(screen.queryByText(/best$/)).toBeNull();
});
