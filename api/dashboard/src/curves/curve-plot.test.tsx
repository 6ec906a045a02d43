// One chart of the grid under pointer and keyboard: the nearest line, its tooltip, zoom by drag and by keys.
import { act, fireEvent, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { frameIn } from "../charts/plot-area-and-grid";
import { formatTime } from "../format";
import { stubSize } from "../testing/component-test-setup";
import { type Layer, layerOf } from "./chart-scene";
import { setCursor, useCursor } from "./cursor";
import { CurvePlot, type CurvePlotProps, placeText } from "./curve-plot";
import { scalesOf } from "./draw-layer";
import { gridFixture, panelFixture, settingsFixture } from "./fixture";

const SIZE = { width: 600, height: 230 };
// Trials 0 and 1, ids 100 and 101, at steps 0, 10 and 20: 3, 2, 1 and 3, 3, 2.
const TWO = gridFixture(["finished", "finished"]);

function layer(search = "", grid = TWO, panel = grid.panels[0] ?? panelFixture()): Layer {
  return layerOf({ grid, panel }, settingsFixture(search));
}

function show(drawn: Layer = layer(), more: Partial<CurvePlotProps> = {}) {
  stubSize(SIZE.width, SIZE.height);
  const [onHover, onOpen, onRange] = [vi.fn(), vi.fn(), vi.fn()];
  const props = { name: "loss", layer: drawn, xKind: "step", height: SIZE.height, hovered: null, ...more };
  const { container, rerender } = render(<CurvePlot {...props} {...{ onHover, onOpen, onRange, ...more }} />);
  const frame = frameIn(SIZE, drawn.y);
  const { x, y } = scalesOf(drawn, frame);
  const plot = screen.getByRole("group");
  return {
    ...{ plot, onHover, onOpen, onRange, frame },
    at: (step: number, value: number) => ({ clientX: x(step), clientY: y(value), pointerType: "mouse", button: 0 }),
    tip: () => container.querySelector<HTMLElement>(".plot-tip"),
    selection: () => container.querySelector<HTMLElement>(".curve-selection"),
    again: (next: Layer) => rerender(<CurvePlot {...props} layer={next} {...{ onHover, onOpen, onRange }} />),
  };
}

function Cursor() {
  return <output>{String(useCursor())}</output>;
}
const cursor = () => screen.getByRole("status").textContent;

beforeEach(() => setCursor(null));
afterEach(() => vi.unstubAllGlobals());

test("the pointer describes the nearest line, and highlights its trial in other views", () => {
  const { plot, onHover, at, tip } = show();
  fireEvent.pointerMove(plot, at(10.5, 2.95));
  expect(tip()?.textContent).toBe("Trial 1step10loss3");
  expect(onHover).toHaveBeenLastCalledWith(101);
  fireEvent.pointerMove(plot, at(10.5, 2.05));
  expect(tip()?.textContent).toBe("Trial 0step10loss2");
  expect(onHover).toHaveBeenLastCalledWith(100);
});

test("far from all lines there is no tooltip, and no trial is highlighted", () => {
  const { plot, onHover, at, tip } = show();
  fireEvent.pointerMove(plot, at(10, 3));
  fireEvent.pointerMove(plot, at(0, 1));
  expect(tip()).toBeNull();
  expect(onHover).toHaveBeenLastCalledWith(null);
});

test("moves within the reach of the same point report it once", () => {
  const { plot, onHover, at } = show();
  fireEvent.pointerMove(plot, at(10, 3));
  fireEvent.pointerMove(plot, at(10.2, 3));
  expect(onHover).toHaveBeenCalledTimes(1);
});

test("the pointer shares its place with the other charts until it leaves", () => {
  const { plot, onHover, at, tip } = show();
  render(<Cursor />);
  fireEvent.pointerMove(plot, at(9, 2.9));
  expect(Number(cursor())).toBeCloseTo(9);
  fireEvent.pointerLeave(plot, { pointerType: "touch" });
  expect(Number(cursor())).toBeCloseTo(9); // a lifted finger keeps the tooltip
  expect(tip()).not.toBeNull();
  fireEvent.pointerLeave(plot, { pointerType: "mouse" });
  expect(cursor()).toBe("null");
  expect(tip()).toBeNull();
  expect(onHover).toHaveBeenLastCalledWith(null);
});

test("a place beyond the plot is the end of the axis", () => {
  const { plot, frame } = show(layer("?from=2&to=18"));
  render(<Cursor />);
  fireEvent.pointerMove(plot, { clientX: 0, clientY: frame.top });
  expect(Number(cursor())).toBe(2);
  fireEvent.pointerMove(plot, { clientX: SIZE.width, clientY: frame.top });
  expect(Number(cursor())).toBe(18);
});

test("a click opens the trial under the pointer, and nothing elsewhere", () => {
  const { plot, onOpen, onRange, at } = show();
  const click = (place: object) => {
    fireEvent.pointerMove(plot, place);
    fireEvent.pointerDown(plot, place);
    fireEvent.pointerUp(plot, place);
  };
  click(at(0, 1));
  expect(onOpen).not.toHaveBeenCalled();
  click(at(10, 3));
  expect(onOpen.mock.calls).toEqual([[1]]);
  expect(onRange).not.toHaveBeenCalled();
});

test.each([
  ["to the right", 5, 15],
  ["to the left", 15, 5],
])("a drag %s zooms to what it covers", (_, from, to) => {
  const { plot, onOpen, onRange, at, selection } = show();
  fireEvent.pointerDown(plot, at(from, 1.5));
  fireEvent.pointerMove(plot, at(to, 1.5));
  expect(Number.parseFloat(selection()?.style.width ?? "0")).toBeCloseTo(at(15, 1).clientX - at(5, 1).clientX, 0);
  fireEvent.pointerUp(plot, at(to, 1.5));
  expect(onRange.mock.calls).toEqual([[{ from: expect.closeTo(5), to: expect.closeTo(15) }]]);
  expect(onOpen).not.toHaveBeenCalled();
  expect(selection()).toBeNull();
});

test("a drag beyond the plot zooms to the end of the axis", () => {
  const { plot, onRange, at } = show(layer("?from=0&to=20"));
  fireEvent.pointerDown(plot, at(5, 1.5));
  fireEvent.pointerUp(plot, { ...at(5, 1.5), clientX: SIZE.width + 400 });
  expect(onRange).toHaveBeenCalledWith({ from: expect.closeTo(5), to: 20 });
});

test("only the first button of a mouse drags: a finger scrolls the page", () => {
  const { plot, onRange, at } = show();
  for (const other of [{ pointerType: "touch" }, { button: 2 }]) {
    fireEvent.pointerDown(plot, { ...at(5, 1.5), ...other });
    fireEvent.pointerUp(plot, { ...at(15, 1.5), ...other });
  }
  expect(onRange).not.toHaveBeenCalled();
});

test("arrow keys stop at the ends of a line and at the first and the last line", async () => {
  const { plot, tip } = show();
  plot.focus();
  const seen: (string | undefined)[] = [];
  for (const key of ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "ArrowDown", "Home", "ArrowLeft", "End"]) {
    await userEvent.keyboard(`{${key}}`);
    seen.push(tip()?.textContent?.replace(/loss.*/, ""));
  }
  expect(seen).toEqual([
    ...["Trial 0step20", "Trial 0step20", "Trial 0step20", "Trial 1step20", "Trial 1step20"],
    ...["Trial 1step0", "Trial 1step0", "Trial 1step20"],
  ]);
});

test("another line is entered at the point nearest to the place, also if its x decreases", async () => {
  const lines = [
    { trial: 0, points: 2, x: [0, 8], y: [1, 2] },
    { trial: 1, points: 3, x: [20, 9, 1], y: [3, 4, 5] },
  ];
  const { plot, tip } = show(layer("?x=metric:epoch", TWO, panelFixture({ lines })), { xKind: "metric:epoch" });
  plot.focus();
  await userEvent.keyboard("{End}{ArrowDown}");
  expect(tip()?.textContent).toBe("Trial 1epoch9loss4");
});

test("Enter opens the chosen trial, Escape and a loss of focus end the choice", async () => {
  const { plot, onOpen, onHover, tip } = show();
  plot.focus();
  await userEvent.keyboard("{Enter}");
  expect(onOpen).not.toHaveBeenCalled();
  await userEvent.keyboard("{ArrowRight}{Enter}");
  expect(onOpen.mock.calls).toEqual([[0]]);
  await userEvent.keyboard("{Escape}");
  expect(tip()).toBeNull();
  await userEvent.keyboard("{ArrowRight}");
  expect(tip()).not.toBeNull();
  act(() => plot.blur());
  expect(tip()).toBeNull();
  expect(onHover).toHaveBeenLastCalledWith(null);
});

test("plus and minus zoom around the chosen point, 0 resets", async () => {
  const { plot, onRange } = show(layer("?from=0&to=20"));
  plot.focus();
  await userEvent.keyboard("+");
  expect(onRange).toHaveBeenLastCalledWith({ from: 5, to: 15 });
  await userEvent.keyboard("-");
  expect(onRange).toHaveBeenLastCalledWith({ from: -10, to: 30 });
  await userEvent.keyboard("{Home}+");
  expect(onRange).toHaveBeenLastCalledWith({ from: 0, to: 10 });
  await userEvent.keyboard("0");
  expect(onRange).toHaveBeenLastCalledWith(null);
});

test("a zoom of a logarithmic axis is by factors", async () => {
  const steps = { trial: 0, points: 2, x: [1, 10_000], y: [1, 2] };
  const { plot, onRange } = show(layer("?log=x&from=1&to=10000", TWO, panelFixture({ lines: [steps] })));
  plot.focus();
  await userEvent.keyboard("+");
  const [range] = onRange.mock.lastCall as [{ from: number; to: number }];
  expect(range.from).toBeCloseTo(10);
  expect(range.to).toBeCloseTo(1000);
});

test("keys without a meaning here are left to the page", () => {
  const { plot } = show();
  const reached = vi.fn();
  document.addEventListener("keydown", reached);
  expect(fireEvent.keyDown(plot, { key: "j" })).toBe(true);
  expect(fireEvent.keyDown(plot, { key: "ArrowRight" })).toBe(false);
  document.removeEventListener("keydown", reached);
  expect(reached).toHaveBeenCalledTimes(1);
});

test("keys on a chart without lines choose nothing", async () => {
  const { plot, onHover, onRange, tip } = show(layer("", TWO, panelFixture()));
  plot.focus();
  await userEvent.keyboard("{ArrowRight}{ArrowDown}{Enter}");
  expect(tip()).toBeNull();
  expect(onHover).toHaveBeenLastCalledWith(null);
  expect(onRange).not.toHaveBeenCalled();
  expect(plot).toHaveAccessibleName(/^loss: no points\./);
});

test("a line that was hidden meanwhile has no tooltip", async () => {
  const { plot, tip, again } = show();
  plot.focus();
  await userEvent.keyboard("{ArrowRight}{ArrowDown}");
  expect(tip()?.textContent).toMatch(/^Trial 1/);
  again(layer("?hide=1"));
  expect(tip()).toBeNull();
});

test("a smoothed line has both values in its tooltip", async () => {
  const { plot, tip } = show(layer("?smooth=0.5"));
  plot.focus();
  await userEvent.keyboard("{ArrowRight}{ArrowRight}");
  expect(tip()?.textContent).toBe("Trial 0step10loss2smoothed2.3333");
});

test("a band has its extremes and the number of trials, and opens no trial", async () => {
  const grid = gridFixture([], { groups: ["adam"] });
  const band = { group: 0, trials: 3, x: [0, 1], mean: [2, 2.5], low: [1, 0], high: [3, 9], curves: [3, 1] };
  const { plot, tip, onOpen, onHover } = show(layer("?show=bands", grid, panelFixture({ bands: [band] })));
  plot.focus();
  await userEvent.keyboard("{End}{Enter}");
  expect(tip()?.textContent).toBe("adam · mean of 3 trialsstep1mean2.5minimum0maximum9trials here1");
  expect(onOpen).not.toHaveBeenCalled();
  expect(onHover).toHaveBeenLastCalledWith(null);
});

test("the tooltip is on the side of the point that has room", async () => {
  const { plot, tip, at } = show();
  plot.focus();
  await userEvent.keyboard("{Home}");
  expect(Number.parseFloat(tip()?.style.left ?? "")).toBeGreaterThan(at(0, 1).clientX);
  await userEvent.keyboard("{End}");
  expect(Number.parseFloat(tip()?.style.left ?? "")).toBeLessThan(at(20, 1).clientX - 200);
});

test("the x value is written in the unit of the axis", () => {
  expect(placeText(90, "runtime")).toBe("1 min 30 s");
  expect(placeText(1_700_000_000, "time")).toBe(formatTime(1_700_000_000));
  expect(placeText(1234.5678, "step")).toBe("1234.57");
  expect(placeText(0.25, "metric:epoch")).toBe("0.25");
});
