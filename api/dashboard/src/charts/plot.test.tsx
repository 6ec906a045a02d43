// Charts with two axes: keys, pointer, tooltip, and several layers on one canvas.
import { fireEvent, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { stubSize } from "../testing/component-test-setup";
import { numberAxis } from "./axis";
import { pointsOf } from "./fixture";
import { Plot, type PlotProps } from "./plot";
import { closest, Scatter } from "./scatter";

const X = numberAxis("number", "trial", [0, 3], { integer: true });
const Y = numberAxis("value", "loss", [0, 1]);
const POINTS = [
  { x: 100, y: 50 },
  { x: 200, y: 60 },
  { x: 380, y: 70 },
];

function Harness(props: Partial<PlotProps>) {
  const [active, setActive] = useState<number | null>(null);
  return (
    <Plot
      x={X}
      y={Y}
      name="loss"
      title="Loss"
      rows={() => [["trial", "loss"]]}
      label="Loss of 3 trials."
      draw={() => undefined}
      nearest={at => closest([0, 1, 2], at, item => POINTS[item] as never, 18)}
      order={() => [2, 0, 1]}
      pointOf={item => POINTS[item] as never}
      describe={item => <b>item {item}</b>}
      active={active}
      onActive={setActive}
      {...props}
    />
  );
}

function show(props: Partial<PlotProps> = {}) {
  stubSize(400);
  const { container } = render(<Harness {...props} />);
  const plot = screen.getByRole("group");
  return { plot, tip: () => container.querySelector<HTMLElement>(".plot-tip") };
}

afterEach(() => vi.unstubAllGlobals());

test("arrow keys visit the items in order and stop at the ends", async () => {
  const { plot } = show();
  plot.focus();
  const seen: (string | undefined)[] = [];
  for (const key of ["ArrowRight", "ArrowRight", "ArrowDown", "ArrowRight", "ArrowLeft"]) {
    await userEvent.keyboard(`{${key}}`);
    seen.push(plot.dataset.active);
  }
  expect(seen).toEqual(["2", "0", "1", "1", "0"]);
});

test("Home and End select the first and last item, Escape clears the highlight", async () => {
  const { plot } = show();
  plot.focus();
  await userEvent.keyboard("{End}");
  expect(plot.dataset.active).toBe("1");
  await userEvent.keyboard("{Home}");
  expect(plot.dataset.active).toBe("2");
  await userEvent.keyboard("{Escape}");
  expect(plot.dataset.active).toBeUndefined();
});

test("Enter opens the active item, and nothing without one", async () => {
  const onOpen = vi.fn();
  const { plot } = show({ onOpen });
  plot.focus();
  await userEvent.keyboard("{Enter}");
  expect(onOpen).not.toHaveBeenCalled();
  await userEvent.keyboard("{ArrowRight}{Enter}");
  expect(onOpen).toHaveBeenCalledWith(2);
});

test("other keys are left to the page", () => {
  const { plot } = show();
  expect(fireEvent.keyDown(plot, { key: "j" })).toBe(true);
  expect(fireEvent.keyDown(plot, { key: "ArrowRight" })).toBe(false);
});

test("the mouse describes the nearest item and a click opens it", () => {
  const onOpen = vi.fn();
  const { plot, tip } = show({ onOpen });
  fireEvent.pointerEnter(plot);
  fireEvent.pointerMove(plot, { clientX: 198, clientY: 62, pointerType: "mouse" });
  expect(tip()?.textContent).toBe("item 1");
  fireEvent.pointerUp(plot, { clientX: 198, clientY: 62, pointerType: "mouse" });
  expect(onOpen).toHaveBeenCalledWith(1);
  fireEvent.pointerLeave(plot, { pointerType: "mouse" });
  expect(tip()).toBeNull();
});

test("a click away from all items opens nothing", () => {
  const onOpen = vi.fn();
  const { plot } = show({ onOpen });
  fireEvent.pointerUp(plot, { clientX: 10, clientY: 250, pointerType: "mouse" });
  expect(onOpen).not.toHaveBeenCalled();
});

test("a touch describes instead of opening", () => {
  const onOpen = vi.fn();
  const { plot } = show({ onOpen });
  fireEvent.pointerUp(plot, { clientX: 100, clientY: 50, pointerType: "touch" });
  expect(onOpen).not.toHaveBeenCalled();
  expect(plot.dataset.active).toBe("0");
});

test("the tooltip stays inside the chart", async () => {
  const { plot, tip } = show();
  plot.focus();
  await userEvent.keyboard("{Home}");
  expect(Number.parseFloat(tip()?.style.left ?? "999")).toBeLessThan(200);
});

test("an item highlighted by another chart has no tooltip here", () => {
  const { plot, tip } = show({ active: 1 });
  expect(plot.dataset.active).toBe("1");
  expect(tip()).toBeNull();
});

test("the nearest item is within reach", () => {
  const at = (item: number) => POINTS[item] as { x: number; y: number };
  expect(closest([0, 1, 2], { x: 105, y: 50 }, at, 18)).toBe(0);
  expect(closest([0, 1, 2], { x: 150, y: 55 }, at, 18)).toBeNull();
  expect(closest([1], { x: 105, y: 50 }, at, 18)).toBeNull();
});

test("a scatter chart visits the trials from left to right, without filtered and incomplete ones", async () => {
  stubSize(400);
  const points = pointsOf({ value: [0.3, 0.2, null, 0.1], "params.lr": [3, 1, 2, 0] });
  const lr = numberAxis("params.lr", "lr", [0, 3]);
  const seen: (number | null)[] = [];
  render(
    <Scatter
      points={points}
      name="loss"
      title="Loss"
      x={lr}
      y={Y}
      inside={Uint8Array.of(1, 1, 1, 0)}
      label="Loss."
      active={null}
      selected={new Set()}
      onActive={row => seen.push(row)}
    />,
  );
  screen.getByRole("group").focus();
  await userEvent.keyboard("{Home}{End}");
  expect(seen).toEqual([1, 0]);
});

test("the tooltip of a trial names its state, values and violated constraints", async () => {
  stubSize(400);
  const points = pointsOf({ value: [0.25], feasible: [false], running_s: [90], "params.lr": [0.5] });
  render(
    <Scatter
      points={points}
      name="loss"
      title="Loss"
      x={numberAxis("running_s", "running_s", [0, 100])}
      y={Y}
      inside={Uint8Array.of(1)}
      described={[Y, numberAxis("params.lr", "lr", [0, 1])]}
      label="Loss."
      active={0}
      selected={new Set()}
      onActive={() => undefined}
    />,
  );
  screen.getByRole("group").focus();
  await userEvent.keyboard("{Home}");
  expect(screen.getAllByText(/Trial 0 · finished, violates a constraint/)[0]).toBeTruthy();
  expect(screen.getAllByText("1 min 30 s")[0]).toBeTruthy();
  expect(screen.getAllByText("lr")).toHaveLength(screen.getAllByText(Y.name).length); // each once
  expect(screen.getAllByText("0.5")[0]).toBeTruthy();
});
