// One axis of parallel coordinates: brushes by pointer and keyboard, choices, tick labels, and moving the axis.
import { fireEvent, render, screen } from "@testing-library/react";
import { type Axis, numberAxis } from "./axis";
import type { Brush } from "./brush-filter-terms";
import { placeY } from "./draw-parallel-lines";
import { type AxisProps, ParallelAxis } from "./parallel-axis";

const HEIGHT = 400;
const LR = numberAxis("params.lr", "lr", [0, 1]);
const LOG = numberAxis("params.lr", "lr", [0.001, 1], { log: true });
const OPTIMIZER: Axis = {
  ...LR,
  ...{ key: "params.optimizer", name: "optimizer", kind: "choice", choices: ["adam", null, true, 64] },
};

function show(more: Partial<AxisProps> = {}) {
  const [onBrush, onMove] = [vi.fn(), vi.fn()];
  const props = { axis: LR, x: 50, gap: 120, room: 200, last: false, absent: false, height: HEIGHT, brush: undefined };
  const { container } = render(<ParallelAxis {...props} {...{ onBrush, onMove, ...more }} />);
  const strip = container.querySelector(".parallel-strip") as HTMLElement;
  return { onBrush, onMove, strip, find: (style: string) => container.querySelector<HTMLElement>(style) };
}
const at = (place: number) => ({ clientX: 0, clientY: placeY(place, HEIGHT), pointerId: 1 });
const handle = (end: "lowest" | "highest") => screen.getByRole("slider", { name: `lr, ${end}` });
const closeTo = (low: number, high: number) => ({ low: expect.closeTo(low), high: expect.closeTo(high) });

test("a drag over the axis is a brush, which is final when the pointer is lifted", () => {
  const { onBrush, strip } = show();
  fireEvent.pointerDown(strip, at(0.75));
  fireEvent.pointerMove(strip, at(0.5));
  fireEvent.pointerUp(strip, at(0.25));
  expect(onBrush.mock.calls).toEqual([
    [closeTo(0.5, 0.75), false],
    [closeTo(0.25, 0.75), true],
  ]);
  fireEvent.pointerMove(strip, at(0.1));
  expect(onBrush).toHaveBeenCalledTimes(2);
});

test("a drag beyond the axis ends at its end, and one over all of it is no brush", () => {
  const { onBrush, strip } = show();
  fireEvent.pointerDown(strip, at(0.5));
  fireEvent.pointerUp(strip, { ...at(1), clientY: -300 });
  expect(onBrush).toHaveBeenLastCalledWith(closeTo(0.5, 1), true);
  fireEvent.pointerDown(strip, at(0));
  fireEvent.pointerUp(strip, at(1));
  expect(onBrush).toHaveBeenLastCalledWith(null, true);
});

test("a click on the axis removes the brush, a click on a handle does not", () => {
  const { onBrush, strip } = show({ brush: { low: 0.2, high: 0.4 } });
  fireEvent.pointerDown(handle("highest"), at(0.4));
  fireEvent.pointerUp(handle("highest"), at(0.4));
  expect(onBrush).not.toHaveBeenCalled();
  fireEvent.pointerDown(strip, at(0.8));
  fireEvent.pointerMove(strip, { ...at(0.8), clientY: placeY(0.8, HEIGHT) + 2 });
  fireEvent.pointerUp(strip, at(0.8));
  expect(onBrush.mock.calls).toEqual([[null, true]]);
});

test("a handle is dragged against the other end, also past it", () => {
  const { onBrush } = show({ brush: { low: 0.2, high: 0.4 } });
  fireEvent.pointerDown(handle("highest"), at(0.4));
  fireEvent.pointerMove(handle("highest"), at(0.6));
  expect(onBrush).toHaveBeenLastCalledWith(closeTo(0.2, 0.6), false);
  fireEvent.pointerUp(handle("highest"), at(0.1));
  expect(onBrush).toHaveBeenLastCalledWith(closeTo(0.1, 0.2), true);
});

test("a drag that the browser takes over changes nothing more", () => {
  const { onBrush, strip } = show();
  fireEvent.pointerDown(strip, at(0.75));
  fireEvent.pointerCancel(strip, at(0.5));
  fireEvent.pointerMove(strip, at(0.3));
  fireEvent.pointerUp(strip, at(0.3));
  expect(onBrush).not.toHaveBeenCalled();
});

test.each([
  ["ArrowUp", {}, closeTo(0.2, 0.425)],
  ["ArrowRight", { shiftKey: true }, closeTo(0.2, 0.525)],
  ["ArrowDown", {}, closeTo(0.2, 0.375)],
  ["PageDown", {}, closeTo(0.2, 0.275)],
  ["Home", {}, closeTo(0.2, 0.2)],
  ["End", {}, closeTo(0.2, 1)],
])("%s moves the upper end of the brush: %j", (key, more, brush) => {
  const { onBrush } = show({ brush: { low: 0.2, high: 0.4 } });
  expect(fireEvent.keyDown(handle("highest"), { key, ...more })).toBe(false);
  expect(onBrush.mock.calls).toEqual([[brush, true]]);
});

test("a held key moves the brush on, which is not final", () => {
  const { onBrush } = show({ brush: { low: 0.2, high: 0.4 } });
  fireEvent.keyDown(handle("highest"), { key: "ArrowUp", repeat: true });
  expect(onBrush.mock.calls).toEqual([[closeTo(0.2, 0.425), false]]);
});

test("Backspace removes the brush", () => {
  const { onBrush } = show({ brush: { low: 0.2, high: 0.4 } });
  fireEvent.keyDown(handle("lowest"), { key: "Backspace" });
  expect(onBrush.mock.calls).toEqual([[null, true]]);
});

test.each([{ ctrlKey: true }, { altKey: true }, { metaKey: true }])(
  "a shortcut of the browser is left to it: %j",
  more => {
    const { onBrush } = show();
    expect(fireEvent.keyDown(handle("lowest"), { key: "ArrowUp", ...more })).toBe(true);
    expect(fireEvent.keyDown(handle("lowest"), { key: "x" })).toBe(true);
    expect(onBrush).not.toHaveBeenCalled();
  },
);

test("keys move along a logarithmic axis by factors", () => {
  const { onBrush } = show({ axis: LOG });
  fireEvent.keyDown(handle("lowest"), { key: "ArrowUp", shiftKey: true });
  expect(onBrush).toHaveBeenCalledWith({ low: expect.closeTo(0.001 * 1000 ** 0.125), high: expect.closeTo(1) }, true);
});

test("handles have the values of the brush, and the ends of the axis without one", () => {
  show({ brush: { low: 0.25, high: 0.5 } });
  expect([handle("lowest"), handle("highest")].map(each => each.getAttribute("aria-valuenow"))).toEqual([
    "0.25",
    "0.5",
  ]);
  expect(handle("lowest")).toHaveAttribute("aria-valuetext", "0.25");
  expect(handle("lowest")).not.toHaveClass("parallel-handle-idle");
});

test("without a brush the handles are idle, at the ends of the axis", () => {
  const { find } = show();
  expect([handle("lowest"), handle("highest")].map(each => each.getAttribute("aria-valuenow"))).toEqual(["0", "1"]);
  expect(handle("highest")).toHaveClass("parallel-handle-idle");
  expect(find(".parallel-brush")).toBeNull();
});

test("the brush covers its values", () => {
  const { find } = show({ brush: { low: 0.25, high: 0.75 } });
  const { top, height } = find(".parallel-brush")?.style ?? {};
  expect(Number.parseFloat(top ?? "")).toBeCloseTo(placeY(0.75, HEIGHT));
  expect(Number.parseFloat(height ?? "")).toBeCloseTo(placeY(0.25, HEIGHT) - placeY(0.75, HEIGHT));
});

test("values outside of the axis, as in an old link, are drawn at its ends", () => {
  const { find } = show({ brush: { low: -5, high: 7 } });
  const { top, height } = find(".parallel-brush")?.style ?? {};
  expect(Number.parseFloat(top ?? "")).toBe(placeY(1, HEIGHT));
  expect(Number.parseFloat(height ?? "")).toBe(placeY(0, HEIGHT) - placeY(1, HEIGHT));
});

test("a brush of choices on an axis of numbers, as in an old link, is ignored", () => {
  const { find } = show({ brush: { choices: ["adam"] } });
  expect(find(".parallel-brush")).toBeNull();
  expect(handle("lowest")).toHaveAttribute("aria-valuenow", "0");
});

function toggled(brush: Brush | undefined, ...names: string[]) {
  const { onBrush } = show({ axis: OPTIMIZER, brush });
  for (const name of names) fireEvent.click(screen.getByRole("button", { name: `optimizer: ${name}` }));
  return onBrush.mock.calls.map(([next]) => next);
}

test("choices are brushed in the order of the axis, whatever the order of the clicks", () => {
  expect(toggled({ choices: [64] }, "adam")).toEqual([{ choices: ["adam", 64] }]);
});

test("without a brush, a click selects one choice", () => {
  expect(toggled(undefined, "–")).toEqual([{ choices: [null] }]);
});

test("the last choice that is taken back, or the last one that is added, ends the brush", () => {
  expect(toggled({ choices: [true] }, "true")).toEqual([null]);
});

test("all choices together are no brush", () => {
  expect(toggled({ choices: ["adam", null, true] }, "64")).toEqual([null]);
});

test("the name moves the axis by arrow keys and by a drag of most of a gap", () => {
  const { onMove } = show({ gap: 100 });
  const name = screen.getByRole("button", { name: "lr" });
  expect(fireEvent.keyDown(name, { key: "ArrowLeft" })).toBe(false);
  expect(onMove).toHaveBeenLastCalledWith(-1);
  expect(fireEvent.keyDown(name, { key: "ArrowUp" })).toBe(true);
  onMove.mockClear();
  const drag = (clientX: number) => fireEvent.pointerMove(name, { clientX });
  drag(500);
  expect(onMove).not.toHaveBeenCalled(); // not pressed
  fireEvent.pointerDown(name, { clientX: 200, pointerId: 1 });
  drag(260);
  expect(onMove).not.toHaveBeenCalled();
  drag(275);
  drag(290);
  expect(onMove.mock.calls).toEqual([[1]]);
  drag(380);
  drag(310);
  expect(onMove.mock.calls).toEqual([[1], [1], [-1]]);
  fireEvent.pointerUp(name);
  drag(900);
  expect(onMove).toHaveBeenCalledTimes(3);
});

test("ticks are on the left of the last axis, and of a log axis at powers", () => {
  const { find } = show({ axis: LOG, last: true });
  expect(find(".parallel-tick")).toHaveClass("parallel-tick-left");
  const ticks = [...document.querySelectorAll(".parallel-tick")].map(tick => tick.textContent);
  expect(ticks).toContain("0.01");
});

test("an axis that some trials do not have says so below it", () => {
  show({ absent: true });
  expect(screen.getByTitle("Trials without lr")).toHaveTextContent("none");
});
