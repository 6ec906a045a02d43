// The filter above the tabs: suggestions by keyboard and mouse, counts, errors, chips of states, and the shortcut.
import { fireEvent, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useKeyboard } from "../keyboard";
import { sweepFixture } from "../sweep/fixture";
import { type Sent, showWithService } from "../testing/component-test-setup";
import { FilterBar, useFilterError } from "./filter-bar";

const SPEC = {
  metric: { name: "acc", goal: "maximize" },
  parameters: { lr: { min: 0.001, max: 0.1 }, optimizer: { values: ["adam", "sgd"] } },
};

function Page({ isTable }: { isTable: boolean }) {
  useKeyboard();
  const error = useFilterError(7, isTable);
  return (
    <>
      <FilterBar sweepId={7} isTable={isTable} />
      <output aria-label="error">{error?.message}</output>
    </>
  );
}

type Counts = Record<string, number>;
type Shown = {
  query?: string;
  isTable?: boolean;
  counts?: Counts;
  matching?: Counts;
  total?: number;
  table?: unknown;
};

function show({
  query = "",
  isTable = false,
  counts = { finished: 1_200, failed: 3 },
  matching = { finished: 38 },
  total = 1_203,
  table,
}: Shown = {}) {
  window.history.replaceState(null, "", `/sweeps/7/curves${query}`);
  const columns = { id: [1], number: [0], state: ["finished"], "params.lr": [0.1], "params.optimizer": ["adam"] };
  const answer = ({ query }: Sent) => ({ total, matching: query.has("filter") ? 40 : total, next: null, columns });
  return showWithService(<Page isTable={isTable} />, {
    "GET /sweeps/7": sweepFixture({ spec: SPEC, counts }),
    "GET /sweeps/7/table": table ?? answer,
    "GET /sweeps/7/trial-counts": { counts: matching },
    "GET /sweeps/7/metrics": [{ name: "val/loss", goal: null }],
  });
}
const field = () => screen.getByRole("combobox", { name: "Filter trials" });
const options = () => screen.queryAllByRole("option").map(option => option.querySelector("code")?.textContent);
const filter = () => new URLSearchParams(window.location.search).get("filter");
const problem =
  (detail: string, more: object, status = 422) =>
  () =>
    Response.json({ detail, ...more }, { status });

afterEach(() => vi.unstubAllGlobals());

test("all trials are counted, or those that match of all", async () => {
  show();
  expect(await screen.findByText("1,203 trials")).toBeVisible();
  await userEvent.type(field(), "lr<0.05{Enter}");
  expect(await screen.findByText("40 of 1,203 trials")).toBeVisible();
});

test("a single trial is one trial", async () => {
  show({ total: 1, counts: { running: 1 } });
  expect(await screen.findByText("1 trial")).toBeVisible();
});

test("outside of the table the count is of one row, in the table it is of the rows that are shown", async () => {
  const other = show();
  await screen.findByText("1,203 trials");
  const asked = other.filter(one => one.path.endsWith("/table")).map(one => one.query.get("limit"));
  expect(asked).toEqual(["1"]);
});

test("arrow keys go around the suggestions, and Enter without a choice applies the text", async () => {
  show();
  await screen.findByRole("button", { name: /finished/ });
  await userEvent.type(field(), "optimizer:");
  expect(options()).toEqual(["adam", "sgd"]);
  expect(field()).not.toHaveAttribute("aria-activedescendant");
  const chosen = () =>
    screen.getAllByRole("option").findIndex(option => option.getAttribute("aria-selected") === "true");
  const seen: number[] = [];
  for (const key of ["ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp"]) {
    await userEvent.keyboard(`{${key}}`);
    seen.push(chosen());
  }
  expect(seen).toEqual([0, 1, 0, 1]);
  expect(field().getAttribute("aria-activedescendant")).toBe(screen.getAllByRole("option")[1]?.id);
});

test("the arrow up starts at the last suggestion", async () => {
  show();
  await screen.findByRole("button", { name: /finished/ });
  await userEvent.type(field(), "optimizer:{ArrowUp}{Enter}");
  expect(field()).toHaveValue("optimizer:sgd");
  expect(filter()).toBe("optimizer:sgd");
});

test("Tab accepts a chosen suggestion and stays; without one it applies the text and leaves", async () => {
  show();
  await screen.findByRole("button", { name: /finished/ });
  await userEvent.type(field(), "stat{ArrowDown}");
  await userEvent.tab();
  expect(field()).toHaveFocus();
  expect(field()).toHaveValue("state:");
  expect(filter()).toBeNull(); // a field without a value is no filter yet
  await userEvent.keyboard("failed");
  await userEvent.tab();
  expect(field()).not.toHaveFocus();
  expect(filter()).toBe("state:failed");
});

test("a suggestion is accepted by a click, within the text", async () => {
  show({ query: "?filter=lr%3C0.1" });
  await screen.findByRole("button", { name: /finished/ });
  await userEvent.type(field(), " optimizer:a");
  fireEvent.mouseDown(screen.getByRole("option", { name: "adam" }));
  await userEvent.click(screen.getByRole("option", { name: "adam" }));
  expect(filter()).toBe("lr<0.1 optimizer:adam");
});

test("Escape closes the suggestions first, and then leaves the field", async () => {
  show();
  await userEvent.type(field(), "st");
  expect(field()).toHaveAttribute("aria-expanded", "true");
  await userEvent.keyboard("{Escape}");
  expect(field()).toHaveAttribute("aria-expanded", "false");
  expect(field()).toHaveFocus();
  await userEvent.keyboard("{ArrowDown}");
  expect(field()).toHaveAttribute("aria-expanded", "true");
  await userEvent.keyboard("{Escape}{Escape}");
  expect(field()).not.toHaveFocus();
});

test("metrics are suggested by their last value", async () => {
  show();
  await screen.findByText("1,203 trials");
  await userEvent.type(field(), "val/");
  await waitFor(() => expect(options()).toContain("val/loss"));
});

test("the names of metrics are not requested before the page has its trials", async () => {
  let answer = (_: Response) => {};
  const sent = show({ table: () => new Promise<Response>(resolve => (answer = resolve)) });
  await waitFor(() => expect(sent.some(one => one.path.endsWith("/table"))).toBe(true));
  expect(sent.some(one => one.path.endsWith("/metrics"))).toBe(false);
  answer(Response.json({ total: 1, matching: 1, next: null, columns: { id: [1] } }));
  await waitFor(() => expect(sent.some(one => one.path.endsWith("/metrics"))).toBe(true));
});

test("a filter is cleared by its button, and one of spaces is none", async () => {
  show({ query: "?filter=tag:a" });
  await userEvent.click(await screen.findByRole("button", { name: "Clear filter" }));
  expect(filter()).toBeNull();
  await userEvent.type(field(), "   {Enter}");
  expect(filter()).toBeNull();
});

test("the slash focuses the field from anywhere on the page", async () => {
  show();
  await screen.findByText("1,203 trials");
  await userEvent.keyboard("/");
  expect(field()).toHaveFocus();
  expect(field()).toHaveValue("");
});

test("chips are the states of this sweep, in a fixed order, and combine with the filter", async () => {
  const counts = { failed: 3, running: 2, finished: 1_200, pruned: 0 };
  show({ query: "?filter=lr%3C0.1", counts, matching: { failed: 3, running: 2, finished: 1_200 } });
  await screen.findByRole("button", { name: /finished 1,200/ });
  const chips = [...document.querySelectorAll(".filter-chip")].map(chip =>
    chip.textContent?.replace(/^\S+ (?=[a-z])/, ""),
  );
  expect(chips).toEqual(["running 2", "finished 1,200", "failed 3", "best 50"]);
  await userEvent.click(screen.getByRole("button", { name: /failed 3/ }));
  expect(filter()).toBe("lr<0.1 state:failed");
  expect(screen.getByRole("button", { name: /failed 3/ })).toHaveAttribute("aria-pressed", "true");
  await userEvent.click(screen.getByRole("button", { name: /running 2/ }));
  expect(filter()).toBe("lr<0.1 state:running");
  await userEvent.click(screen.getByRole("button", { name: /running 2/ }));
  expect(filter()).toBe("lr<0.1");
});

test("the best 50 replace another number of best trials", async () => {
  show({ query: "?filter=top:10" });
  const best = await screen.findByRole("button", { name: "best 50" });
  expect(best).toHaveAttribute("aria-pressed", "false");
  await userEvent.click(best);
  expect(filter()).toBe("top:50");
  await userEvent.click(best);
  expect(filter()).toBeNull();
});

test("a sweep without trials has no chips", async () => {
  show({ total: 0, counts: {} });
  expect(await screen.findByText("0 trials")).toBeVisible();
  expect(screen.queryByRole("button", { name: "best 50" })).toBeNull();
});

test("the wrong part of a filter is marked, and the message has no position of its own", async () => {
  const table = problem("at character 9: 'x' is not a number", { position: 8, length: 4 });
  show({ query: "?filter=state:a%20lr%3Cx", table });
  const alert = await screen.findByRole("alert");
  expect(alert).toHaveTextContent("'x' is not a number");
  expect(alert.textContent).not.toContain("character");
  expect(alert.querySelector("mark")).toHaveTextContent("lr<x");
  expect(field()).toHaveAttribute("aria-invalid", "true");
  expect(screen.getByText((_, element) => element?.className === "filter-count")).toHaveTextContent("");
});

test("an error without a position marks the whole filter, except in the table, where it is of the order", async () => {
  show({ query: "?filter=lr", table: problem("the filter is too long", {}, 400) });
  expect((await screen.findByRole("alert")).querySelector("mark")).toHaveTextContent("lr");
  expect(screen.getByLabelText("error")).toHaveTextContent("the filter is too long");
});

test("in the table an error without a position is not of the filter", async () => {
  const sent = show({ isTable: true, query: "?sort=nothing", table: problem("cannot sort by 'nothing'", {}, 400) });
  await waitFor(() => expect(sent.some(one => one.path.endsWith("/table"))).toBe(true));
  await screen.findByRole("button", { name: /finished/ });
  expect(screen.queryByRole("alert")).toBeNull();
  expect(screen.getByLabelText("error")).toHaveTextContent("");
});

test("a failure of the service is not an invalid filter", async () => {
  const sent = show({ query: "?filter=lr%3C1", table: problem("the database is locked", {}, 500) });
  await waitFor(() => expect(sent.some(one => one.path.endsWith("/table"))).toBe(true));
  await screen.findByRole("button", { name: /finished/ });
  expect(screen.queryByRole("alert")).toBeNull();
  expect(field()).not.toHaveAttribute("aria-invalid");
});

test("chips count the trials that match the rest of the filter", async () => {
  const sent = show({ query: "?filter=lr<0.05+state:failed" });
  expect(await screen.findByRole("button", { name: "finished 38" })).toHaveAttribute("aria-pressed", "false");
  expect(screen.getByRole("button", { name: "failed 0" })).toHaveAttribute("aria-pressed", "true");
  const asked = sent.filter(one => one.path.endsWith("/trial-counts")).map(one => one.query.get("filter"));
  expect(asked).toEqual(["lr<0.05"]);
});

test("chips of an invalid filter have no counts", async () => {
  showWithService(<Page isTable={false} />, {
    "GET /sweeps/7": sweepFixture({ spec: SPEC, counts: { finished: 5 } }),
    "GET /sweeps/7/table": problem("there is no 'nope'", { position: 0, length: 4 }),
    "GET /sweeps/7/trial-counts": problem("there is no 'nope'", { position: 0, length: 4 }),
    "GET /sweeps/7/metrics": [],
  });
  await userEvent.type(field(), "nope<3{Enter}");
  await screen.findByRole("alert");
  expect(screen.getByRole("button", { name: "finished" })).toBeVisible();
});
