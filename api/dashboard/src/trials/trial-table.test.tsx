// Rows of the trial table are rendered again only if they have changed.
import { act, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { hover } from "../selection";
import type { Column } from "./columns";
import { TrialTable } from "./trial-table";
import type { Row, Trials } from "./use-table-windows";
import type { Rows } from "./use-virtual-rows";

const show = vi.fn((row: Row) => String(row.number));
const COLUMNS = [
  { key: "number", name: "Trial", title: "", group: "Trial", width: 80, number: true, show },
] satisfies Column[];
const ROWS = [5, 6].map(number => ({ id: number, number, state: "finished", cell: () => number }));
const TRIALS: Trials = { total: 2, matching: 2, columns: ["number"], row: index => ROWS[index], stale: false };
const IN_VIEW = { first: 0, last: 1, above: 0, below: 0, frame: () => undefined } as unknown as Rows;

function tableWith(onOpen: (row: Row) => void, onActive = vi.fn()) {
  const more = { sort: "number", all: "none" as const, active: null, rows: IN_VIEW, sweepId: 1, onActive };
  const unused = { onSort: vi.fn(), onToggle: vi.fn(), onAll: vi.fn() };
  return <TrialTable trials={TRIALS} columns={COLUMNS} onOpen={onOpen} {...more} {...unused} />;
}

test("new handlers render no row again, and the latest are called", async () => {
  const [before, now] = [vi.fn(), vi.fn()];
  const { rerender } = render(tableWith(before));
  show.mockClear();
  rerender(tableWith(now));
  expect(show).not.toHaveBeenCalled();
  await userEvent.click(screen.getByText("6"));
  expect(now).toHaveBeenCalledWith(ROWS[1]);
  expect(before).not.toHaveBeenCalled();
});

test("a row that becomes hovered is the only one that is rendered again", () => {
  render(tableWith(vi.fn()));
  show.mockClear();
  act(() => hover(1, 6));
  expect(show.mock.calls.map(([row]) => row.number)).toEqual([6]);
  expect(screen.getByText("6").closest("tr")).toHaveClass("trials-hovered");
});
