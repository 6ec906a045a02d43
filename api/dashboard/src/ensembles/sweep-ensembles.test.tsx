// The ensembles of a sweep.
import { screen } from "@testing-library/react";
import { showWithService, stubSize } from "../testing/component-test-setup";
import { ENSEMBLE } from "./fixture";
import { EnsemblesOfSweep } from "./sweep-ensembles";

beforeEach(() => stubSize(500));
afterEach(() => vi.unstubAllGlobals());

test("the newest ensembles of a sweep are listed", async () => {
  const ids = Array.from({ length: 10 }, (_, index) => index + 1);
  const answers = Object.fromEntries(ids.map(id => [`GET /ensembles/${id}`, { ...ENSEMBLE, id, name: `small-${id}` }]));
  const sent = showWithService(<EnsemblesOfSweep ids={ids} />, answers);
  expect(await screen.findByRole("link", { name: "small-10" })).toHaveAttribute("href", "/ensembles/10");
  expect(sent.map(one => one.path)).not.toContain("/ensembles/1");
  expect(screen.getByRole("link", { name: "All 10 ensembles" })).toHaveAttribute("href", "/ensembles");
});
