// The toolbar of the trial table: go to a trial, columns, downloads.
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { sweepFixture } from "../sweep/fixture";
import { ColumnsMenu } from "./column-chooser";
import { columnsOf } from "./columns";
import { rangeOf } from "./range-selection";
import { DownloadMenu, GoTo } from "./table-tools";

test.each([
  ["17", [17]],
  ["#4", [4]],
  ["abc", []],
  ["1.5", []],
  [" ", []],
])("typing %j goes to %j", async (text, calls) => {
  const onGo = vi.fn();
  render(<GoTo onGo={onGo} />);
  await userEvent.type(screen.getByLabelText("Go to trial number"), `${text}{Enter}`);
  expect(onGo.mock.calls.flat()).toEqual(calls);
});

test("columns are toggled in table order; the trial number always stays", async () => {
  const sweep = sweepFixture();
  const [onShown, onReset] = [vi.fn(), vi.fn()];
  const columns = columnsOf(sweep, ["number", "state", "value", "device"]);
  render(<ColumnsMenu columns={columns} shown={["number", "device"]} onShown={onShown} onReset={onReset} />);
  await userEvent.click(screen.getByLabelText("State"));
  await userEvent.click(screen.getByLabelText("Device"));
  expect(onShown.mock.calls).toEqual([[["number", "state", "device"]], [["number"]]]);
  expect(screen.getByLabelText("Trial")).toBeDisabled();
  await userEvent.click(screen.getByText("Reset columns"));
  expect(onReset).toHaveBeenCalled();
});

test("downloads carry the filter", () => {
  render(<DownloadMenu sweepId={7} filter="tag:a&b" />);
  const links = screen.getAllByRole("link", { hidden: true }).map(link => link.getAttribute("href"));
  expect(links).toEqual(["csv", "jsonl", "parquet"].map(type => `/api/v1/sweeps/7/export.${type}?filter=tag%3Aa%26b`));
  expect(screen.getByText("Trials that match the filter.")).toBeTruthy();
});

test("without a filter all trials are downloaded", () => {
  render(<DownloadMenu sweepId={7} filter="" />);
  expect(screen.getByText("CSV").getAttribute("href")).toBe("/api/v1/sweeps/7/export.csv");
  expect(screen.queryByText("Trials that match the filter.")).toBeNull();
});

test.each([
  [3, 6, 500, { offset: 3, limit: 4, cut: false }],
  [6, 3, 500, { offset: 3, limit: 4, cut: false }],
  [3, 900, 500, { offset: 3, limit: 500, cut: true }],
  [900, 3, 500, { offset: 401, limit: 500, cut: true }],
  [5, 5, 500, { offset: 5, limit: 1, cut: false }],
])("the range from %s to %s of at most %s rows", (anchor, index, most, range) => {
  expect(rangeOf(anchor, index, most)).toEqual(range);
});
