// The table of trials of several sweeps: sorting, filters of columns, missing values, and removal of trials.
import { render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { JoinedTable } from "./joined-table";
import type { JoinedTrial } from "./queries";

function trial(id: number, changes: Partial<JoinedTrial> = {}): JoinedTrial {
  return {
    ...{ id, sweep_id: 1, sweep_name: "first", number: id, state: "finished", values: { loss: id }, duration_s: 90 },
    ...{ params: {}, metrics: {}, device: null, cause: null },
    ...changes,
  };
}

const TRIALS = [
  trial(1, { params: { lr: 0.1, act: "relu", bias: true }, metrics: { acc: 0.5 } }),
  trial(2, { sweep_id: 2, sweep_name: "second", params: { lr: 0.1, width: 64, bias: true }, values: { loss: 3 } }),
  trial(3, { params: { lr: 0.1, act: "gelu", bias: true }, values: { loss: 2 }, state: "running", duration_s: null }),
];

type Shown = { trials?: JoinedTrial[]; chosen?: number[]; hasSweeps?: boolean };

function show({ trials = TRIALS, chosen = [], hasSweeps = true }: Shown = {}) {
  const [onBest, onDrop] = [vi.fn(), vi.fn()];
  render(<JoinedTable best={10} {...{ trials, chosen, hasSweeps, onBest, onDrop }} />);
  return { onBest, onDrop };
}
const heads = () => screen.getAllByRole("columnheader").map(head => head.textContent?.trim());
const order = () => screen.getAllByRole("rowheader").map(head => head.textContent);
const head = (name: string) => screen.getByRole("columnheader", { name: new RegExp(`^${name}`) });
const sortBy = (name: string) => userEvent.click(within(head(name)).getByRole("button"));

test("the columns are the union of values, parameters and metrics", () => {
  show();
  expect(heads()).toEqual([
    ...["Trial", "Sweep", "State", "Duration"],
    ...["valueloss", "parameterlr", "parameteract", "parameterbias", "parameterwidth", "lastacc"],
  ]);
});

test("what a trial lacks is a dash with a name, and differs from a value", () => {
  show({ trials: [trial(1, { params: { act: null } }), trial(2, { params: { lr: 0 } })] });
  const [first, second] = screen.getAllByRole("row").slice(1) as [HTMLElement, HTMLElement];
  expect(within(first).getAllByText("missing")).toHaveLength(1); // lr
  expect(within(second).getAllByText("missing")).toHaveLength(1); // act
  expect(within(second).getByText("0")).toHaveAttribute("title", "0");
});

test("numbers are shortened, with the exact value as a title; other values are as they are", () => {
  show({ trials: [trial(1, { values: { loss: 0.123456789 }, params: { bias: false, act: "relu" } })] });
  expect(screen.getByText("0.12346")).toHaveAttribute("title", "0.123456789");
  expect(screen.getByText("false")).toBeVisible();
  expect(screen.getByText("relu")).toBeVisible();
});

test("columns with numbers are aligned to the right, their names and missing values too", () => {
  show();
  expect(head("parameter ?width")).toHaveClass("joined-number");
  expect(head("parameter ?act")).not.toHaveClass("joined-number");
  const first = screen.getAllByRole("row")[1] as HTMLElement;
  expect(within(first).getByText("missing").closest("td")).toHaveClass("joined-number"); // width
});

test("a click on a name sorts up, then down, then as before", async () => {
  show();
  await sortBy("value");
  expect(order()).toEqual(["Trial 1", "Trial 3", "Trial 2"]);
  expect(head("value")).toHaveAttribute("aria-sort", "ascending");
  await sortBy("value");
  expect(order()).toEqual(["Trial 2", "Trial 3", "Trial 1"]);
  expect(head("value")).toHaveAttribute("aria-sort", "descending");
  await sortBy("value");
  expect(order()).toEqual(["Trial 1", "Trial 2", "Trial 3"]);
  expect(head("value")).not.toHaveAttribute("aria-sort");
});

test("trials without the parameter are last in both directions, ties keep their order", async () => {
  show();
  await sortBy("parameter ?act");
  expect(order()).toEqual(["Trial 3", "Trial 1", "Trial 2"]);
  await sortBy("parameter ?act");
  expect(order()).toEqual(["Trial 1", "Trial 3", "Trial 2"]);
  await sortBy("parameter ?lr");
  expect(order()).toEqual(["Trial 1", "Trial 2", "Trial 3"]);
});

test("columns are found by the words of their kind and their name, in any case", async () => {
  show();
  const field = screen.getByRole("searchbox", { name: "Filter columns" });
  await userEvent.type(field, "PARAM  wi");
  expect(heads().slice(4)).toEqual(["parameterwidth"]);
  await userEvent.clear(field);
  await userEvent.type(field, "last lr");
  expect(heads().slice(4)).toEqual([]);
});

test("the order stays when its column is filtered out", async () => {
  show();
  await sortBy("value");
  await userEvent.type(screen.getByRole("searchbox"), "width");
  expect(order()).toEqual(["Trial 1", "Trial 3", "Trial 2"]);
});

test("equal columns can be hidden, a missing value is a difference", async () => {
  show();
  await userEvent.click(screen.getByLabelText("Differences only"));
  expect(heads().slice(4)).toEqual(["valueloss", "parameteract", "parameterwidth", "lastacc"]);
  await userEvent.click(screen.getByLabelText("Differences only"));
  expect(heads()).toContain("parameterlr");
});

test("each trial links to its page and to its sweep", () => {
  show();
  expect(screen.getByRole("link", { name: "Trial 2" })).toHaveAttribute("href", "/sweeps/2/trials/2");
  expect(screen.getByRole("link", { name: "second" })).toHaveAttribute("href", "/sweeps/2");
});

test("a trial that was added by itself can be removed, the best of a sweep cannot", async () => {
  const { onDrop } = show({ chosen: [2] });
  expect(screen.getAllByRole("button", { name: /^Remove trial/ })).toHaveLength(1);
  await userEvent.click(screen.getByRole("button", { name: "Remove trial 2 of second from the comparison" }));
  expect(onDrop.mock.calls).toEqual([[2]]);
});

test("the number of trials of each sweep is selected, if there is a sweep", async () => {
  const { onBest } = show();
  const select = screen.getByLabelText("Best of each sweep");
  expect(select).toHaveValue("10");
  await userEvent.selectOptions(select, "25");
  expect(onBest.mock.calls).toEqual([[25]]);
});

test("trials alone have no number to select", () => {
  show({ hasSweeps: false, chosen: [1, 2, 3] });
  expect(screen.queryByLabelText("Best of each sweep")).toBeNull();
});

test("a trial that still runs has no duration yet", () => {
  show();
  const row = screen.getByRole("row", { name: /Trial 3/ });
  expect(
    within(row)
      .getAllByRole("cell")
      .map(cell => cell.textContent)
      .slice(2, 3),
  ).toEqual(["–"]);
});

test("without trials there is a message instead of a table", () => {
  show({ trials: [] });
  expect(screen.getByRole("heading", { name: "No trials" })).toBeVisible();
  expect(screen.queryByRole("table")).toBeNull();
});
