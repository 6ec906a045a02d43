// Rows of the test split: as a table or as images, chosen and paged.
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import type { Samples } from "./ensemble-types-and-labels";
import { RowPicker, trueLabelOf } from "./row-picker";

const SAMPLES = {
  ...{ split: "test", start: 12, there: 1_500, columns: ["age", "bmi"], labels: ["cat", "dog"], targets: null },
  inputs: [
    [1, 2, 3, 4, 5, 6, 7],
    [0.5, 0.25, 0, 0, 0, 0, 0],
  ],
  ...{ image: null, low: 0, high: 1 },
} as unknown as Samples;
const IMAGE = { channels: 1, height: 1, width: 7, low: 0, high: 1 };

function show(image: typeof IMAGE | null = null) {
  const [onChoose, onMove] = [vi.fn(), vi.fn()];
  render(<RowPicker found={SAMPLES} image={image} chosen={1} onChoose={onChoose} onMove={onMove} />);
  return { onChoose, onMove };
}

test("a table shows the first columns, their names and the true class", () => {
  show();
  expect(screen.getAllByRole("columnheader").map(head => head.textContent)).toEqual([
    ...["Row", "age", "bmi", "#3", "#4", "#5", "#6", "…", "True"],
  ]);
  expect(screen.getByRole("row", { name: /^13 1 2 3 4 5 6 … cat$/ })).toBeVisible();
});

test("rows are counted from the start of the split", () => {
  show();
  expect(screen.getByText("Row 13 to 14 of 1,500")).toBeVisible();
});

test("a row is chosen by its number, and the chosen one is marked", async () => {
  const { onChoose } = show();
  expect(screen.getByRole("button", { name: "14" })).toHaveAttribute("aria-pressed", "true");
  await userEvent.click(screen.getByRole("button", { name: "13" }));
  expect(onChoose).toHaveBeenCalledWith(0);
});

test("pages move by the number of rows shown", async () => {
  const { onMove } = show();
  await userEvent.click(screen.getByRole("button", { name: "Next rows" }));
  await userEvent.click(screen.getByRole("button", { name: "Previous rows" }));
  expect(onMove.mock.calls).toEqual([[2], [-2]]);
});

test("random rows stay within the split", async () => {
  const { onMove } = show();
  vi.spyOn(Math, "random").mockReturnValue(0.9999);
  await userEvent.click(screen.getByRole("button", { name: "Random rows" }));
  vi.restoreAllMocks();
  expect(onMove).toHaveBeenCalledWith(1_499);
});

test("images are buttons with their class", async () => {
  const { onChoose } = show(IMAGE);
  expect(screen.getByRole("group", { name: "Rows of the test split" })).toBeVisible();
  await userEvent.click(screen.getByRole("button", { name: "cat" }));
  expect(onChoose).toHaveBeenCalledWith(0);
});

test("regression targets are numbers", () => {
  const values = { ...SAMPLES, labels: null, targets: [[0.25, 12_345]] } as unknown as Samples;
  expect(trueLabelOf(values, 0)).toBe("0.25, 12,345");
  expect(trueLabelOf(values, 1)).toBe("");
});
