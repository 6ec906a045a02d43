// The line chart: values by keyboard and pointer, marks, and single points.
import { fireEvent, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { stubSize } from "../testing/component-test-setup";
import type { Series } from "./draw-line-chart";
import { Chart } from "./line-chart";

const SERIES: Series[] = [
  {
    name: "Mean",
    tone: 1,
    points: [
      [1, 0.5],
      [2, 0.75],
      [4, 0.875],
    ],
  },
  {
    name: "Worst",
    tone: 2,
    dashed: true,
    points: [
      [1, 0.25],
      [4, 0.5],
    ],
  },
];

function show(changes: Partial<Parameters<typeof Chart>[0]> = {}) {
  stubSize(400);
  return render(<Chart name="scores" label="Scores." series={SERIES} xName="Members" yName="Accuracy" {...changes} />)
    .container;
}

afterEach(() => vi.unstubAllGlobals());

const status = () => screen.getByRole("status").textContent;

test("arrow keys read the values from either end", async () => {
  show({ say: x => `step ${x}` });
  screen.getByRole("img", { name: /^Scores\./ }).focus();
  await userEvent.keyboard("{ArrowRight}");
  expect(status()).toBe("Members 1: step 1");
  await userEvent.keyboard("{ArrowRight}{ArrowRight}{ArrowRight}");
  expect(status()).toBe("Members 4: step 4");
  expect(screen.getByText("Mean").textContent).toBe("Mean0.875");
});

test("starting with the left arrow begins at the last value", async () => {
  show();
  screen.getByRole("img").focus();
  await userEvent.keyboard("{ArrowLeft}");
  expect(status()).toBe("Members 4");
});

test("a series without a value at this position has a dash", async () => {
  show();
  screen.getByRole("img").focus();
  await userEvent.keyboard("{ArrowRight}{ArrowRight}");
  expect(screen.getByText("Worst").textContent).toBe("Worst–");
});

test("the values disappear with the focus and with the pointer", () => {
  show();
  const chart = screen.getByRole("img");
  fireEvent.pointerMove(chart, { clientX: 388 });
  expect(status()).toBe("Members 4");
  fireEvent.pointerLeave(chart);
  expect(status()).toBe("");
});

test("the pointer reads the nearest value", () => {
  show();
  fireEvent.pointerMove(screen.getByRole("img"), { clientX: 60 });
  expect(status()).toBe("Members 1");
});

test("without points there are axes but no values", async () => {
  show({ series: [] });
  screen.getByRole("img").focus();
  await userEvent.keyboard("{ArrowRight}");
  expect(status()).toBe("");
});

test("before the size is known nothing is drawn", () => {
  stubSize(0);
  render(<Chart name="scores" label="Scores." series={SERIES} xName="" yName="" />);
  expect(screen.queryByRole("img")).toBeNull();
});
