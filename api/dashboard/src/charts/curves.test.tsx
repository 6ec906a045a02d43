// Learning curves: descriptions, legends, the curve under the pointer, and the surface of a contour.
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { stubSize } from "../testing/component-test-setup";
import { COLUMNS, MIN_TRIALS, ROWS, surface } from "./contour-grid";
import type { Curve } from "./curve-values";
import { Curves, type CurvesProps } from "./curves";

const curve = (number: number, values: number[], state = "finished"): Curve => ({
  ...{ trial_id: 100 + number, number, state, points: values.length },
  ...{ steps: values.map((_, step) => step * 10), values },
});
const CURVES = [curve(1, [3, 2, 1]), curve(2, [4, 3], "running"), curve(3, [5], "failed")];

function show(changes: Partial<CurvesProps> = {}) {
  stubSize(500);
  const [onHover, onOpen] = [vi.fn(), vi.fn()];
  render(
    <Curves curves={CURVES} metric="loss" goal="minimize" highlighted={null} {...{ onHover, onOpen }} {...changes} />,
  );
  return { onHover, onOpen };
}
const legend = () => screen.getAllByRole("listitem").map(item => item.textContent?.trim());

afterEach(() => vi.unstubAllGlobals());

test("the description has the best value of all curves", () => {
  show();
  expect(screen.getByRole("img", { name: "Curves of loss, 3 trials. Best value 1." })).toBeTruthy();
});

test("without a goal there is no best value and no ramp", () => {
  show({ goal: undefined });
  expect(screen.getByRole("img", { name: "Curves of loss, 3 trials." })).toBeTruthy();
  expect(legend()).toEqual(["● at the end: still running", "pruned, failed or cancelled"]);
});

test("the legend lists only what is drawn", () => {
  show({ curves: [curve(1, [1, 2])] });
  expect(legend()).toEqual(["last value, worst to best"]);
});

test("individually coloured curves are named", () => {
  show({ colours: "series" });
  expect(legend()).toEqual(["trial 1", "trial 2", "trial 3"]);
});

test("keys highlight trials by id and open them", async () => {
  const { onHover, onOpen } = show({ highlighted: 102 });
  screen.getByRole("group").focus();
  await userEvent.keyboard("{ArrowRight}{Enter}{Escape}");
  expect(onHover.mock.calls).toEqual([[103], [null]]);
  expect(onOpen).toHaveBeenCalledWith(102);
});

test("the tooltip shows the last step, its value and the best", async () => {
  show({ highlighted: 101 });
  screen.getByRole("group").focus();
  await userEvent.keyboard("{Home}");
  const tip = document.querySelector(".plot-tip")?.textContent;
  expect(tip).toBe("Trial 1 · finishedstep20loss1best1");
});

test("a trial that is not drawn is not highlighted", () => {
  show({ highlighted: 999 });
  expect(screen.getByRole("group")).not.toHaveAttribute("data-active");
});

const grid = (xs: number[], ys: number[], shares: number[]) =>
  surface(
    { xs: Float64Array.from(xs), ys: Float64Array.from(ys), rows: xs.map((_, row) => row) },
    Float64Array.from(shares),
  );

test("equal results give a flat surface", () => {
  const spread = Array.from({ length: MIN_TRIALS }, (_, at) => at / (MIN_TRIALS - 1));
  const cells = grid(
    spread,
    [...spread].reverse(),
    spread.map(() => 0.5),
  );
  const known = [...cells].filter(cell => !Number.isNaN(cell));
  expect(cells).toHaveLength(COLUMNS * ROWS);
  expect(known.length).toBeGreaterThan(0);
  for (const cell of known) expect(cell).toBeCloseTo(0.5);
});

test("the surface never leaves the range of the results", () => {
  const spread = Array.from({ length: 40 }, (_, at) => (at * 0.618) % 1);
  const cells = grid(
    spread,
    spread.map(x => (x * 7) % 1),
    spread,
  );
  for (const cell of cells) if (!Number.isNaN(cell)) expect(cell).toBeGreaterThanOrEqual(-1e-9);
  for (const cell of cells) if (!Number.isNaN(cell)) expect(cell).toBeLessThanOrEqual(1 + 1e-9);
});
