// Trying a prediction: test rows, pasted values, deadlines, and errors of members.
import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { type Answers, showWithService } from "../testing/component-test-setup";
import type { Ensemble } from "./ensemble-types-and-labels";
import { ANSWER, ENSEMBLE } from "./fixture";
import { TryPanel } from "./try-prediction";

const SAMPLES = {
  ...{ split: "test", start: 0, there: 20, columns: ["a", "b", "c"], labels: ["dog", "cat"], targets: null },
  inputs: [
    [1, 2, 3],
    [4, 5, 6],
  ],
  ...{ image: null, low: 0, high: 1 },
};
const SERVICE: Answers = { "GET /ensembles/3/samples": SAMPLES, "POST /ensembles/3/predict": ANSWER };

function show(changes: Partial<Ensemble> = {}, answers: Answers = {}) {
  window.history.replaceState(null, "", "/ensembles/3");
  return showWithService(<TryPanel ensemble={{ ...ENSEMBLE, ...changes }} />, { ...SERVICE, ...answers });
}
const predictions = (sent: ReturnType<typeof show>) =>
  sent.filter(one => one.path.endsWith("/predict")).map(one => one.body);

afterEach(() => vi.unstubAllGlobals());

test.each([
  ["stopped", "Start it to make predictions."],
  ["retired", "It no longer serves predictions."],
  ["warming", "It serves predictions when it is ready."],
])("an ensemble that is %s cannot predict", (state, hint) => {
  const sent = show({ state });
  expect(screen.getByText(hint)).toBeVisible();
  expect(sent).toEqual([]);
});

test("the first test row is predicted at once and compared with its class", async () => {
  const sent = show();
  expect(await screen.findByText("✓ Correct: dog")).toBeVisible();
  expect(predictions(sent)).toEqual([{ inputs: [[1, 2, 3]], deadline_ms: null }]);
});

test("the selected row is stored in the URL", async () => {
  const sent = show();
  await userEvent.click(await screen.findByRole("button", { name: "2" }));
  expect(window.location.search).toBe("?row=1");
  expect(await screen.findByText("✕ Incorrect: true class is cat")).toBeVisible();
  expect(predictions(sent).at(-1)).toEqual({ inputs: [[4, 5, 6]], deadline_ms: null });
});

test("a deadline is sent with the prediction", async () => {
  const sent = show();
  await screen.findByText("✓ Correct: dog");
  await userEvent.type(screen.getByLabelText(/^Deadline/), "5");
  await waitFor(() => expect(predictions(sent).at(-1)).toEqual({ inputs: [[1, 2, 3]], deadline_ms: 5 }));
});

test("pages of rows wrap around the split", async () => {
  show();
  await userEvent.click(await screen.findByRole("button", { name: "Previous rows" }));
  expect(window.location.search).toBe("?from=18");
});

test("predicting again asks again", async () => {
  const sent = show();
  await userEvent.click(await screen.findByRole("button", { name: "Predict again" }));
  await waitFor(() => expect(predictions(sent)).toHaveLength(2));
});

test("pasted values are validated before they are sent", async () => {
  const sent = show();
  await userEvent.click(await screen.findByRole("button", { name: "Paste values" }));
  const before = predictions(sent).length;
  const field = screen.getByLabelText("3 values");
  await userEvent.type(field, "1, 2");
  expect(screen.getByText("Expected 3 numbers, got 2.")).toBeVisible();
  expect(predictions(sent)).toHaveLength(before);
  await userEvent.type(field, ", 9");
  await waitFor(() => expect(predictions(sent).at(-1)).toEqual({ inputs: [[1, 2, 9]], deadline_ms: null }));
});

test("a test row can be inserted to be changed", async () => {
  show();
  await userEvent.click(await screen.findByRole("button", { name: "Paste values" }));
  await userEvent.click(screen.getByRole("button", { name: "Insert a test row" }));
  expect(screen.getByLabelText("3 values")).toHaveValue("1, 2, 3");
});

test("without test rows only pasting remains, with the reason", async () => {
  show({}, { "GET /ensembles/3/samples": () => Response.json({ detail: "the data is gone" }, { status: 409 }) });
  expect(await screen.findByText("the data is gone")).toBeVisible();
  expect(screen.queryByRole("button", { name: "Rows from test" })).toBeNull();
  expect(screen.getByLabelText("3 values")).toBeVisible();
});

test("a failed prediction names what each member did", async () => {
  show(
    {},
    {
      "POST /ensembles/3/predict": () =>
        Response.json(
          {
            detail: "quorum not reached",
            members: [
              { member_id: 1, trial_id: 12, status: "late" },
              { member_id: 2, trial_id: 9_999, status: "died" },
            ],
          },
          { status: 503 },
        ),
    },
  );
  expect(await screen.findByText("quorum not reached (trial 1: late, trial id 9999: died)")).toBeVisible();
});

test("images can be drawn", async () => {
  const image = { channels: 1, height: 1, width: 3 };
  show({}, { "GET /ensembles/3/samples": { ...SAMPLES, image } });
  await userEvent.click(await screen.findByRole("button", { name: "Draw" }));
  expect(screen.getByRole("heading", { name: "Draw an image" })).toBeVisible();
  expect(screen.getByRole("button", { name: "Clear" })).toBeDisabled();
  screen.getByRole("application").focus();
  await userEvent.keyboard(" ");
  expect(await screen.findByRole("table")).toBeVisible();
});
