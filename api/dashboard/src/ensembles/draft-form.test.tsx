// The form of an ensemble draft: fields by selection method, problems, and options for regression.
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { type Draft, draftOf } from "./draft";
import { DraftForm } from "./draft-form";

function show(changes: Partial<Draft> = {}, more: Partial<Parameters<typeof DraftForm>[0]> = {}) {
  const change = vi.fn();
  const draft = { ...draftOf(""), ...changes };
  const { container } = render(
    <DraftForm draft={draft} change={change} problems={{}} selected={[]} ids={[]} values={false} {...more} />,
  );
  return { change, container };
}

test("bagging belongs to greedy selection only", () => {
  show();
  expect(screen.queryByLabelText("Bagging rounds")).toBeNull();
});

test("a greedy selection has bagging rounds", async () => {
  const { change } = show({ choose: "greedy", bags: "" });
  await userEvent.type(screen.getByLabelText("Bagging rounds"), "5");
  expect(change).toHaveBeenLastCalledWith({ bags: "5" });
});

test("a manual selection has no count", () => {
  show({ choose: "explicit", trials: "4" });
  expect(screen.queryByLabelText("How many (k)")).toBeNull();
  expect(screen.getByText("Check the trials below.")).toBeVisible();
});

test("trials selected in the table are offered once", async () => {
  const { change } = show({}, { selected: [4, 9] });
  await userEvent.click(screen.getByRole("button", { name: "Use the 2 selected in the table" }));
  expect(change).toHaveBeenCalledWith({ choose: "explicit", trials: "4,9" });
});

test("trials that are members already are not offered again", () => {
  show({ choose: "explicit", trials: "7.0,7.1" }, { selected: [4, 9], ids: [4, 9] });
  expect(screen.queryByRole("button", { name: /selected in the table/ })).toBeNull();
});

test("regression has no votes, logits or temperature", () => {
  show({}, { values: true });
  const rules = [...screen.getByLabelText<HTMLSelectElement>("Combination rule").options].map(option => option.value);
  expect(rules).not.toContain("hard_vote");
  expect(rules).not.toContain("logit_mean");
  expect(rules).toContain("median");
  expect(screen.queryByLabelText("Calibrate (temperature scaling)")).toBeNull();
});

test("calibration is switched on and off", async () => {
  const { change } = show({ calibrate: "yes" });
  await userEvent.click(screen.getByLabelText("Calibrate (temperature scaling)"));
  expect(change).toHaveBeenCalledWith({ calibrate: "" });
});

test.each([
  [{}, false],
  [{ quorum: "2" }, true],
  [{ mode: "in_graph" }, true],
  [{ precision: "bfloat16" }, true],
])("with %j the serving options are open: %s", (changes, open) => {
  expect(show(changes).container.querySelector("details")?.open).toBe(open);
});

test("problems are announced at their fields", () => {
  show({ k: "0" }, { problems: { k: "Must be an integer from 1 to 1,000" } });
  const field = screen.getByLabelText("How many (k)");
  expect(field).toHaveAttribute("aria-invalid", "true");
  expect(field).toHaveAccessibleDescription("Must be an integer from 1 to 1,000");
});
