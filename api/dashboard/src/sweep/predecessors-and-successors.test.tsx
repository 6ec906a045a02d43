// The chain of a sweep: its neighbours with their states, and the values that it took.
import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { showWithService } from "../testing/component-test-setup";
import { SweepActions } from "./actions";
import { sweepFixture } from "./fixture";
import { afterText, SweepChain } from "./predecessors-and-successors";

const LINKED = {
  predecessors: [{ id: 3, name: "coarse", state: "failed" }],
  successors: [{ id: 9, name: "last", state: "queued" }],
};

afterEach(() => vi.unstubAllGlobals());

test("the sweeps before and after are links with their states", () => {
  showWithService(<SweepChain sweep={sweepFixture(LINKED)} />);
  expect(screen.getByRole("link", { name: "coarse" }).getAttribute("href")).toBe("/sweeps/3");
  expect(screen.getByRole("navigation").textContent).toMatch(/^Aftercoarse ✕failed.*this sweep.*Beforelast ○queued$/);
});

test("values that were taken name their trial", () => {
  const fixed = { sweep_id: 3, trial_id: 70, number: 4, params: { lr: 0.01 } };
  showWithService(<SweepChain sweep={sweepFixture({ ...LINKED, fixed })} />);
  expect(screen.getByText(/lr = 0.01/).textContent).toBe("lr = 0.01 from trial 4 of sweep 3");
  expect(screen.getByRole("link", { name: "trial 4" }).getAttribute("href")).toBe("/sweeps/3/trials/4");
});

test("a sweep without neighbours has no chain", () => {
  showWithService(<SweepChain sweep={sweepFixture()} />);
  expect(screen.queryByRole("navigation")).toBeNull();
  expect(afterText(sweepFixture())).toBe("");
  expect(afterText(sweepFixture(LINKED))).toBe("after sweep 3");
});

test("a sweep that waits is released, and not stopped", async () => {
  const sweep = sweepFixture({ ...LINKED, state: "queued", held: true, counts: {} });
  const sent = showWithService(<SweepActions sweep={sweep} />, { "POST /sweeps/7/release": sweep });
  expect(screen.queryByRole("button", { name: "Stop" })).toBeNull();
  await userEvent.click(screen.getByRole("button", { name: "Release" }));
  expect(sent).toEqual([]);
  await userEvent.click(screen.getByText("Release the sweep"));
  expect(sent.map(one => `${one.method} ${one.path}`)).toEqual(["POST /sweeps/7/release"]);
});

test("a sweep that does not wait cannot be released", () => {
  showWithService(<SweepActions sweep={sweepFixture({ ...LINKED, state: "queued" })} />);
  expect(screen.queryByRole("button", { name: "Release" })).toBeNull();
});
