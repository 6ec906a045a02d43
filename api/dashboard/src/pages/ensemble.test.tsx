// The page of one ensemble: its figures, its reason, unknown ensembles, and live health.
import { screen } from "@testing-library/react";
import type { Ensemble } from "../ensembles/ensemble-types-and-labels";
import { ENSEMBLE, memberOf } from "../ensembles/fixture";
import { showWithService, stubSize } from "../testing/component-test-setup";
import { EnsemblePage } from "./ensemble";

async function show(changes: Partial<Ensemble> = {}) {
  window.history.replaceState(null, "", "/ensembles/3");
  stubSize(500);
  showWithService(<EnsemblePage ensembleId={3} />, {
    "GET /ensembles/3": { ...ENSEMBLE, ...changes },
    "GET /ensembles/3/evaluations": [],
  });
  await screen.findByRole("heading", { level: 1 });
}
const stat = (name: string) => screen.getByText(name, { selector: "dt" }).nextElementSibling?.textContent;

afterEach(() => vi.unstubAllGlobals());

test("the figures of an ensemble are listed", async () => {
  await show({ state: "stopped" });
  expect([stat("Members ready"), stat("Combination rule"), stat("Deadline")]).toEqual([
    "2 of 2quorum 1",
    "Mean",
    "1.0 s",
  ]);
  expect([stat("Execution mode"), stat("Classes")]).toEqual([
    "One process per memberfloat32, shared devices",
    "23 inputs",
  ]);
  expect(document.title).toBe("small-1 · Podium");
});

test("members that only respond late count as ready, others do not", async () => {
  const members = [memberOf(0, { state: "suspect" }), memberOf(1, { state: "open" })];
  await show({ state: "stopped", members });
  expect(stat("Members ready")).toBe("1 of 2quorum 1");
});

test("a fitted temperature is shown with the rule", async () => {
  await show({ state: "stopped", temperature: 1.25 });
  expect(stat("Combination rule")).toBe("Meantemperature 1.25");
});

test("regression has values instead of classes", async () => {
  await show({ state: "stopped", task: "regression", classes: ["y"] });
  expect(stat("Values")).toBe("13 inputs");
});

test("the reason of the state is shown", async () => {
  await show({ state: "failed", reason: "member 1 does not start" });
  expect(screen.getByText("member 1 does not start")).toBeVisible();
});

test("the sweep is linked if the ensemble has one", async () => {
  await show({ state: "stopped" });
  expect(screen.getByRole("link", { name: "sweep 1" })).toHaveAttribute("href", "/sweeps/1/ensemble");
});

test("an unknown ensemble says so", async () => {
  window.history.replaceState(null, "", "/ensembles/9");
  showWithService(<EnsemblePage ensembleId={9} />);
  expect(await screen.findByRole("heading", { name: "Ensemble 9 not found" })).toBeVisible();
});
