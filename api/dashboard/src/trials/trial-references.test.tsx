// Trials in addresses: names, ids of earlier versions, and which of them need a request.
import { screen } from "@testing-library/react";
import { showWithService } from "../testing/component-test-setup";
import { nameOf, namesIn, type TrialName, trialHref, useNamedTrials } from "./trial-references";

const TRIALS: TrialName[] = [
  { id: 71, sweep_id: 3, number: 17 },
  { id: 72, sweep_id: 4, number: 0 },
];

function Names({ known }: { known?: readonly TrialName[] }) {
  const { trials, isLoading } = useNamedTrials("trials", known, 3);
  return <p>{isLoading ? "loading" : trials.map(nameOf).join(" and ") || "none"}</p>;
}

function show(query: string, known?: readonly TrialName[]) {
  window.history.replaceState(null, "", `/sweeps/3/compare${query}`);
  return showWithService(<Names known={known} />, { "GET /trial-names": TRIALS });
}

test("addresses have the number of a trial in its sweep", () => {
  expect(trialHref(3, 17)).toBe("/sweeps/3/trials/17");
  expect(namesIn("3.17, 72,3.17,x,.5,3.,0.1")).toEqual(["3.17", "72"]);
});

test("names stay in the address", async () => {
  const sent = show("?trials=3.17,4.0");
  expect(await screen.findByText("3.17 and 4.0")).toBeVisible();
  expect(window.location.search).toBe("?trials=3.17,4.0");
  expect(sent.map(one => one.query.getAll("trial"))).toEqual([["3.17", "4.0"]]);
});

test("ids of an earlier version are replaced by names", async () => {
  show("?trials=72,71&curve=loss");
  expect(await screen.findByText("4.0 and 3.17")).toBeVisible();
  await vi.waitFor(() => expect(new URLSearchParams(window.location.search).get("trials")).toBe("4.0,3.17"));
  expect(new URLSearchParams(window.location.search).get("curve")).toBe("loss");
});

test("trials that do not exist are left out", async () => {
  show("?trials=3.17,9.9");
  expect(await screen.findByText("3.17")).toBeVisible();
});

test("known trials need no request", async () => {
  const sent = show("?trials=3.17", TRIALS);
  expect(await screen.findByText("3.17")).toBeVisible();
  expect(sent).toEqual([]);
});
