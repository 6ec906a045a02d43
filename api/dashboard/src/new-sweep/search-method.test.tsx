// The fields of population-based training, from the JSON Schema of the sweep file.
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { updateOf } from "./draft-stub";
import { SweepForm } from "./form";
import { type Draft, problemOf } from "./sweep-file-draft";
import type { Document } from "./yaml-values";

const PBT = {
  description: "Trials train in intervals.",
  properties: {
    type: { const: "pbt", description: "pbt: population-based training" },
    population: { type: "integer", description: "number of trials" },
    interval: { $ref: "#/$defs/IntervalLength", description: "length of an interval" },
    quantile: { type: "number", default: 0.25 },
    perturb: { type: "array", description: "factors" },
  },
};
const SCHEMA = {
  $defs: { IntervalLength: { properties: { step: { type: "integer", description: "number of steps" } } }, Pbt: PBT },
  properties: {
    method: {
      default: "tpe",
      oneOf: [{ enum: ["tpe"], type: "string", enumDescriptions: ["for most sweeps"] }, { $ref: "#/$defs/Pbt" }],
    },
  },
};
const READ = { document: {}, numbers: {}, wandb: false, problems: [], notes: [], samples: [], plan: null };

function show(document: Document) {
  const change = vi.fn<Draft["change"]>(() => Promise.resolve());
  const draft: Draft = {
    text: "name: small",
    setText: vi.fn(),
    change,
    update: updateOf(change, { document, numbers: {} }),
    completeText: () => Promise.resolve(""),
    read: READ,
    fresh: true,
    failed: null,
    document,
    numbers: {},
    problemAt: (path, but) =>
      problemOf([{ path: ["method", "interval", "step"], line: 1, column: 1, message: "too short" }], path, but),
  };
  globalThis.fetch = vi.fn(async request => {
    return Response.json(request instanceof Request && request.url.endsWith("/projects") ? [] : SCHEMA);
  });
  render(
    <QueryClientProvider client={new QueryClient()}>
      <SweepForm draft={draft} />
    </QueryClientProvider>,
  );
  return change;
}

test("choosing the method writes its required keys and removes keys that do not fit", async () => {
  const change = show({ run_cap: 20, early_terminate: { type: "median" } });
  await screen.findByRole("option", { name: "pbt: population-based training" });
  await userEvent.selectOptions(screen.getByLabelText("Search"), "pbt");
  expect(change).toHaveBeenLastCalledWith([
    { path: ["method"], value: "{type: pbt, population: 16, interval: {step: 5}}" },
    { path: ["run_cap"], value: null },
    { path: ["early_terminate"], value: null },
  ]);
});

test("a population has a field for each key of the schema, inner ones too, and none for the number of trials", async () => {
  const change = show({ method: { type: "pbt", population: 8, interval: { step: 5 }, perturb: [0.8, 1.2] } });
  expect(await screen.findByLabelText("Population")).toHaveValue("8");
  expect(screen.getByLabelText("Search")).toHaveValue("pbt");
  expect(screen.getByText("Trials train in intervals.")).toBeVisible();
  expect(screen.getByLabelText("Interval step")).toHaveValue("5");
  expect(screen.getByLabelText("Interval step")).toHaveAttribute("aria-invalid", "true");
  expect(screen.getByLabelText("Quantile")).toHaveAttribute("placeholder", "0.25");
  expect(screen.getByLabelText("Perturb")).toHaveValue("0.8, 1.2");
  expect(screen.queryByLabelText("Trials")).toBeNull();
  const step = screen.getByLabelText("Interval step");
  await userEvent.clear(step);
  await userEvent.type(step, "2{Enter}");
  expect(change).toHaveBeenLastCalledWith([{ path: ["method", "interval", "step"], value: "2" }]);
  await userEvent.selectOptions(screen.getByLabelText("Search"), "tpe");
  expect(change).toHaveBeenLastCalledWith([{ path: ["method"], value: null }]);
});
