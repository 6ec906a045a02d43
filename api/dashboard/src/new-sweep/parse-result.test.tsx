// The preview of a sweep: problems with lines, notes, devices, the search space and samples.
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { Collapsible } from "./collapsible";
import { SweepPreview } from "./parse-result";
import type { Draft, Read } from "./sweep-file-draft";

const PLAN = {
  ...{ run_cap: 24, searched_by: "tpe", space: ["lr", "width"], grid_size: null, data: "digits", code: "", terms: {} },
  devices: { count: 2, usable: 2, at_once: 2, kinds: ["cpu"] },
};

function show(read: object | undefined, failed: unknown = null) {
  const onGo = vi.fn();
  const whole = read && { document: {}, numbers: {}, problems: [], notes: [], samples: [], plan: null, ...read };
  const draft = { read: whole as Read | undefined, failed } as Draft;
  render(<SweepPreview draft={draft} id="preview" onGo={onGo} />);
  return onGo;
}
const plan = (changes: object = {}) => show({ plan: { ...PLAN, ...changes } });

test("a plan states the sampler, the trials, the devices and the data", () => {
  plan();
  const items = screen.getAllByRole("listitem").map(item => item.textContent);
  expect(items).toEqual([
    "tpe runs up to 24 trials of a space of 2 parameters.",
    "2 trials at a time, on 2 cpu devices.",
    "Data: digits.",
  ]);
});

test.each([
  [{ space: [] }, /a define-by-run space/],
  [{ space: ["lr"] }, /a continuous space of 1 parameter/],
  [{ grid_size: 1_200 }, /1,200 possible configurations/],
])("the space with %j is described", (changes, text) => {
  plan(changes);
  expect(screen.getByText(text)).toBeVisible();
});

test.each([
  [{ count: 0, usable: 0, at_once: 0, kinds: [] }, "The service has no devices yet; the sweep will wait for one."],
  [
    { count: 3, usable: 0, at_once: 0, kinds: ["cpu", "gpu"] },
    "None of the 3 devices (cpu and gpu) is available now; the sweep would wait.",
  ],
  [
    { count: 3, usable: 2, at_once: 1, kinds: ["gpu"] },
    "1 trial at a time, on 3 gpu devices, of which 2 are available.",
  ],
])("the devices %j are described", (devices, text) => {
  plan({ devices });
  expect(screen.getByText(text)).toBeVisible();
});

test("terms of the service are shown with their key", () => {
  plan({ terms: { early_terminate: "asha from step 4" } });
  expect(screen.getByText("Early terminate: asha from step 4.")).toBeVisible();
});

test("samples are a table, with gaps for inactive parameters", () => {
  show({ plan: PLAN, samples: [{ lr: 0.01 }, { lr: 0.1, momentum: 0.9 }] });
  expect(screen.getByRole("table", { name: "Three sample configurations" })).toBeVisible();
  expect(
    screen
      .getAllByRole("row")
      .slice(1)
      .map(row => row.textContent),
  ).toEqual(["0.01", "0.10.9"]);
});

test("problems lead to their lines", async () => {
  const problem = { path: ["run_cap"], line: 3, column: 1, message: "must be positive" };
  const onGo = show({ problems: [problem, { ...problem, line: null, path: [] }] });
  expect(screen.getByRole("heading", { name: "2 problems" })).toBeVisible();
  await userEvent.click(screen.getByRole("button", { name: "Line 3" }));
  expect(onGo).toHaveBeenCalledWith(problem);
  expect(screen.getAllByRole("button")).toHaveLength(1);
});

test("notes are listed", () => {
  show({ notes: ["lr is on a linear scale"] });
  expect(screen.getByText("lr is on a linear scale")).toBeVisible();
});

test("a failed check is reported, and before it there is a placeholder", () => {
  show(undefined, new Error("no answer"));
  expect(screen.getByRole("alert")).toHaveTextContent("no answer");
});

test("a collapsible section shows its state and opens on a click", async () => {
  render(
    <Collapsible title="Retries" state="2 set" hint="When a trial runs again.">
      <input aria-label="Count" />
    </Collapsible>,
  );
  expect(screen.queryByLabelText("Count")).toBeNull();
  await userEvent.click(screen.getByText("Retries"));
  expect(screen.getByLabelText("Count")).toBeVisible();
  await userEvent.click(screen.getByText("Retries"));
  expect(screen.queryByLabelText("Count")).toBeNull();
});

test("a section with a problem is open, marked, and stays open when it is fixed", () => {
  const section = (problem?: string) => (
    <Collapsible title="Retries" state="2 set" problem={problem}>
      <input aria-label="Count" />
    </Collapsible>
  );
  const { rerender } = render(section("must be positive"));
  expect(screen.getByText("invalid")).toBeVisible();
  rerender(section());
  expect(screen.getByText("2 set")).toBeVisible();
  expect(screen.getByLabelText("Count")).toBeVisible();
});
