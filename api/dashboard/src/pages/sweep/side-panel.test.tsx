// The side panel of the table: opened by a click, p or a link, it follows the rows, and shows error, curves and log.
import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { gridFixture, panelFixture } from "../../curves/fixture";
import { useKeyboard } from "../../keyboard";
import { sweepFixture } from "../../sweep/fixture";
import { type Sent, showWithService, stubSize } from "../../testing/component-test-setup";
import { TableTab } from "./table-tab";

const SWEEP = sweepFixture({ id: 7, counts: { finished: 2, failed: 1 }, best: null });
const ATTEMPT = {
  ...{ number: 1, state: "failed", cause: "user_error", message: "ValueError: no rows", traceback: "Traceback: here" },
  ...{ ranks: [], device: "cpu-0", devices: 1, exit: "0", pid: 4, orphans_killed: 0, late_prune_answers: 0 },
};
let order: number[];

const tableOf = ({ query }: Sent) => {
  const found = query.has("find") ? order.indexOf(Number(query.get("find"))) : null;
  const columns = {
    id: order.map(number => 70 + number),
    number: order,
    state: order.map(number => (number === 2 ? "failed" : "finished")),
    value: order.map(number => (number === 2 ? null : number)),
  };
  return { total: 3, matching: 3, next: null, found, columns };
};

function trialOf(number: number) {
  return {
    ...{ id: 70 + number, number, sweep_id: 7, state: number === 2 ? "failed" : "finished" },
    ...{ value: number === 2 ? null : number, values: null, constraints: {}, user_attrs: {}, tags: [], attempt: 1 },
    ...{ params: { lr: number / 10 }, cloned_from: null, device: "cpu-0", artifacts: [], requested: null, note: "" },
    ...{ started_at: "2026-01-01T00:00:00Z", ended_at: "2026-01-01T00:00:05Z", created_at: null, sampler: "tpe" },
    attempts: number === 2 ? [ATTEMPT] : [{ ...ATTEMPT, state: "finished", cause: null, message: "", traceback: "" }],
  };
}

function Keyed() {
  useKeyboard();
  return <TableTab sweepId={7} />;
}

function open(query = "") {
  window.history.replaceState(null, "", `/sweeps/7/table${query}`);
  stubSize(300);
  const answers: Record<string, unknown> = {
    "GET /sweeps/7": SWEEP,
    "GET /sweeps/7/table": tableOf,
    "GET /sweeps/7/metrics": ({ query }: Sent) =>
      query.get("filter") === "id:72" ? [] : ["loss", "a", "b"].map(name => ({ name, goal: null })),
    "GET /sweeps/7/curve-grid": ({ query }: Sent) => ({
      ...gridFixture(["finished"]),
      panels: query.getAll("metric").map(name => panelFixture({ name })),
    }),
  };
  for (const number of [0, 1, 2]) {
    answers[`GET /trials/${70 + number}`] = trialOf(number);
    answers[`GET /trials/${70 + number}/log`] = () =>
      new Response(Array.from({ length: 60 }, (_, line) => `line ${line} of ${number}`).join("\n"), {
        headers: { "Podium-Next-Byte": "900" },
      });
  }
  return showWithService(<Keyed />, answers);
}

const panelOf = (number: number) => screen.findByRole("complementary", { name: `Trial ${number}` });
const param = (key: string) => new URLSearchParams(window.location.search).get(key);

beforeEach(() => {
  order = [0, 1, 2];
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(700);
  vi.stubGlobal("IntersectionObserver", undefined); // every chart is in view
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

test("a click on a row opens the panel with parameters, curves and the last lines of the log", async () => {
  open();
  await userEvent.click((await screen.findAllByText("finished"))[0] as HTMLElement);
  const panel = within(await panelOf(0));
  expect(await panel.findByText("lr")).toBeVisible();
  expect(panel.getByText("5.0 s")).toBeVisible();
  expect(await panel.findByRole("figure", { name: "loss" })).toBeVisible();
  const log = await panel.findByText(/line 59 of 0/);
  expect(log.textContent?.split("\n")).toHaveLength(40);
  expect(panel.queryByRole("region", { name: "Failure" })).toBeNull();
  expect(param("trial")).toBe("0");
});

test("j, k and the arrow keys move the panel along, Escape closes it, Enter opens the page", async () => {
  open();
  await screen.findAllByText("finished");
  await userEvent.keyboard("jp");
  await panelOf(0);
  await userEvent.keyboard("j");
  await panelOf(1);
  await userEvent.keyboard("{ArrowDown}");
  const failed = within(await panelOf(2));
  expect(await failed.findByText("Exception")).toBeVisible();
  expect(failed.getByText("ValueError: no rows")).toBeVisible();
  expect(await failed.findByText("No metrics reported")).toBeVisible();
  await userEvent.keyboard("{ArrowUp}");
  await panelOf(1);
  await userEvent.keyboard("{Escape}");
  await waitFor(() => expect(screen.queryByRole("complementary")).toBeNull());
  expect(param("trial")).toBeNull();
  await userEvent.keyboard("{Enter}");
  expect(window.location.pathname).toBe("/sweeps/7/trials/1");
});

test("a link opens the panel, and its row has the cursor", async () => {
  open("?trial=2");
  await panelOf(2);
  await waitFor(() => expect(document.querySelector("[aria-current]")).toHaveTextContent("failed"));
});

test("the panel keeps its trial when the rows are sorted again", async () => {
  const sent = open("?trial=1");
  await panelOf(1);
  order = [1, 2, 0];
  await userEvent.click(screen.getByRole("button", { name: "Trial" }));
  await waitFor(() => expect(sent.some(one => one.query.get("sort") === "number")).toBe(true));
  await panelOf(1);
  expect(param("trial")).toBe("1");
});

test("a click on a checkbox selects without opening the panel", async () => {
  open();
  await userEvent.click(await screen.findByLabelText("Select trial 1"));
  expect(screen.queryByRole("complementary")).toBeNull();
});
