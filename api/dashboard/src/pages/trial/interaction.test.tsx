// Interactive sections of the trial page: clone, notes and tags, curves, and the log.
import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { sweepFixture } from "../../sweep/fixture";
import { type Answers, showWithService, stubSize } from "../../testing/component-test-setup";
import { CloneDialog } from "./clone-dialog";
import { TrialCurves } from "./curves";
import { Log } from "./log";
import { NotesAndTags } from "./notes-and-tags";
import type { Trial } from "./queries";

const TRIAL = {
  ...{ id: 7, sweep_id: 3, number: 4, state: "finished", value: 0.5, values: null, constraints: {}, user_attrs: {} },
  ...{ tags: ["keep"], params: { lr: 0.02, optimizer: "adam", flag: true }, sampler: "tpe", attempt: 1 },
  ...{ fallback_reason: null, fallback_error: null, proposed_for: null },
  ...{ requested: null, device: "cpu-0", cause: null, note: "", cloned_from: null, attempts: [{ number: 1 }] },
  ...{ artifacts: [], unfit: null, created_at: null, started_at: null, ended_at: null },
} as unknown as Trial;
const SWEEP = sweepFixture({
  id: 3,
  spec: {
    metric: { name: "loss", goal: "minimize" },
    parameters: { lr: { min: 1e-4, max: 0.1, log: true }, optimizer: { values: ["adam", "sgd"] } },
  },
});

beforeEach(() => {
  window.history.replaceState(null, "", "/trials/7");
  HTMLDialogElement.prototype.showModal ??= vi.fn();
});
afterEach(() => vi.unstubAllGlobals());

function showClone(answers: Answers = { "POST /trials/7/clone": {} }) {
  const onClose = vi.fn();
  return { sent: showWithService(<CloneDialog trial={TRIAL} sweep={SWEEP} onClose={onClose} />, answers), onClose };
}

test("an unchanged clone sends no parameters", async () => {
  const { sent, onClose } = showClone();
  await userEvent.click(screen.getByText("Clone unchanged"));
  await waitFor(() => expect(onClose).toHaveBeenCalled());
  expect(sent[0]?.body).toEqual({ params: {} });
  expect(await screen.findByText("Cloned trial 4 unchanged")).toBeVisible();
});

test("changed values keep their types, and those changed back are not sent", async () => {
  const { sent } = showClone();
  await userEvent.selectOptions(screen.getByLabelText(/^optimizer/), "sgd");
  const flag = screen.getByLabelText(/^flag/);
  await userEvent.clear(flag);
  await userEvent.type(flag, "false");
  const lr = screen.getByLabelText(/^lr/);
  await userEvent.clear(lr);
  await userEvent.type(lr, "0.02");
  await userEvent.click(screen.getByText("Clone with 2 changes"));
  await waitFor(() => expect(sent[0]?.body).toEqual({ params: { optimizer: "sgd", flag: false } }));
});

test("a refusal without a parameter is shown above the fields", async () => {
  const { onClose } = showClone({
    "POST /trials/7/clone": () => Response.json({ detail: "the sweep is cancelled" }, { status: 409 }),
  });
  await userEvent.click(screen.getByText("Clone unchanged"));
  expect((await screen.findByRole("alert", { hidden: true })).textContent).toBe("the sweep is cancelled");
  expect(onClose).not.toHaveBeenCalled();
});

const showNotes = (changes: Partial<Trial> = {}, role?: string) =>
  showWithService(<NotesAndTags trial={{ ...TRIAL, ...changes }} />, { "PATCH /trials/7": TRIAL }, role);

test("several tags are added at once", async () => {
  const sent = showNotes();
  await userEvent.type(screen.getByLabelText("New tag"), "odd, small  wide{Enter}");
  await waitFor(() => expect(sent[0]?.body).toEqual({ add_tags: ["odd", "small", "wide"] }));
  expect(screen.getByLabelText("New tag")).toHaveValue("");
});

test("a tag leads to the trials with it", () => {
  showNotes({ tags: ["a:b"] });
  expect(screen.getByRole("link", { name: "a:b" })).toHaveAttribute("href", "/sweeps/3/table?filter=tag%3Aa%3Ab");
});

test("Ctrl-Enter saves a note, and a discarded one is not sent", async () => {
  const sent = showNotes({ note: "old" });
  const note = screen.getByLabelText("Note");
  await userEvent.type(note, " and new");
  await userEvent.click(screen.getByRole("button", { name: "Discard" }));
  expect(note).toHaveValue("old");
  await userEvent.type(note, "er{Control>}{Enter}{/Control}");
  await waitFor(() => expect(sent.map(one => one.body)).toEqual([{ note: "older" }]));
  expect(await screen.findByText("Note saved")).toBeVisible();
});

test("a viewer reads notes and tags without controls", () => {
  showNotes({ note: "old" }, "viewer");
  expect(screen.getByLabelText("Note")).toHaveAttribute("readonly");
  expect(screen.queryByRole("button", { name: /^(Add|Save|Remove tag keep)$/ })).toBeNull();
});

function showCurves(names: object, state = "finished") {
  stubSize(400);
  showWithService(<TrialCurves trial={{ ...TRIAL, state }} />, { "GET /sweeps/3/metrics": names });
}

test.each([
  ["finished", "No metrics reported"],
  ["running", "No metrics reported yet"],
])("a trial that is %s without metrics says %s", async (state, text) => {
  showCurves([], state);
  expect(await screen.findByText(text)).toBeVisible();
});

test("the curves of a trial have no settings of several trials", async () => {
  showCurves([{ name: "loss", goal: "minimize" }]);
  expect(await screen.findByRole("figure", { name: "loss" })).toBeVisible();
  expect(screen.queryByLabelText("Color by")).toBeNull();
});

const showLog = (text: string, next: number, changes: Partial<Trial> = {}) =>
  showWithService(<Log trial={{ ...TRIAL, ...changes }} />, {
    "GET /trials/7/log": () => new Response(text, { headers: { "Podium-Next-Byte": String(next) } }),
  });

test("matches are counted in any case, and stepping wraps around", async () => {
  showLog("Loss 1\nloss 2\nLOSS 3\n", 21);
  await screen.findByRole("region", { name: "Log of attempt 1" });
  await userEvent.type(screen.getByLabelText("Find in the log"), "loss");
  expect(screen.getByText("1 of 3")).toBeVisible();
  await userEvent.click(screen.getByRole("button", { name: "Previous match" }));
  expect(screen.getByText("3 of 3")).toBeVisible();
  await userEvent.keyboard("{Escape}");
  await userEvent.type(screen.getByLabelText("Find in the log"), "x");
  expect(screen.getByText("no matches")).toBeVisible();
  expect(screen.getByRole("button", { name: "Next match" })).toBeDisabled();
});

test("wrapping is stored in the URL, and the whole log can be downloaded", async () => {
  showLog("text\n", 5);
  const log = await screen.findByRole("region", { name: "Log of attempt 1" });
  expect(log).toHaveClass("log-wrap");
  await userEvent.click(screen.getByRole("button", { name: "Wrap" }));
  expect(window.location.search).toBe("?nowrap=1");
  expect(log).not.toHaveClass("log-wrap");
  expect(screen.getByRole("link", { name: "Download the whole log" })).toHaveAttribute(
    "href",
    "/api/v1/trials/7/log/whole?attempt=1",
  );
});

test("the log of a rank is selected in the URL, and the ranks are listed with their ends", async () => {
  const ends = { node: "", pid: 1, ended_at: null, message: null };
  const ranks = [
    { rank: 0, device: "cpu-0", state: "cancelled", exit: "SIGKILL", cause: "cancelled", ...ends },
    { rank: 1, device: "cpu-1", state: "failed", exit: "SIGKILL", cause: "signal", ...ends },
  ];
  showLog("text\n", 5, { attempts: [{ number: 1, ranks }] as Trial["attempts"] });
  await userEvent.selectOptions(await screen.findByRole("combobox", { name: "Rank" }), "1");
  expect(window.location.search).toBe("?rank=1");
  expect(await screen.findByRole("region", { name: "Log of rank 1 of attempt 1" })).toBeVisible();
});

test("an earlier attempt is selected in the URL", async () => {
  showLog("text\n", 5, { attempt: 2, attempts: [{ number: 1 }, { number: 2 }] as Trial["attempts"] });
  await userEvent.selectOptions(await screen.findByLabelText("Attempt"), "1");
  expect(window.location.search).toBe("?attempt=1");
  expect(await screen.findByRole("region", { name: "Log of attempt 1" })).toBeVisible();
});

test("earlier output is announced", async () => {
  showLog("end\n", 900);
  expect(await screen.findByText(/Earlier lines are not shown\./)).toBeVisible();
});
