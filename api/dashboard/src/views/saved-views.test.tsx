// Saved views: opened by address, saved with the state of the page, and marked when changed.
import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { sweepFixture } from "../sweep/fixture";
import { showWithService } from "../testing/component-test-setup";
import { SavedViews } from "./saved-views";
import { hrefOf, isShown, type SavedView, stateOf } from "./views";

const VIEW: SavedView = {
  ...{ id: 1, name: "slow adam", project: "", tab: "table", owner: "ann", changed_at: null },
  query: { filter: "optimizer:adam", sort: "-duration_s" },
};

function show(address: string, role = "admin") {
  window.history.replaceState(null, "", address);
  return showWithService(
    <SavedViews sweepId={7} tab="table" />,
    { "GET /sweeps/7": sweepFixture({ project: "vision" }), "GET /views": [VIEW], "PUT /views": VIEW },
    role,
  );
}

beforeEach(() => {
  HTMLElement.prototype.hidePopover ??= vi.fn(); // happy-dom has no popovers
});
afterEach(() => vi.unstubAllGlobals());

test("a view has the state of the page, without the selected trials", () => {
  expect(stateOf("?filter=a&view=x&trials=1,2&sort=b")).toEqual({ filter: "a", sort: "b" });
  expect(hrefOf(VIEW, 7)).toBe("/sweeps/7/table?filter=optimizer%3Aadam&sort=-duration_s&view=slow+adam");
  expect(isShown(VIEW, "table", "?filter=optimizer:adam&sort=-duration_s&view=x")).toBe(true);
  expect(isShown(VIEW, "curves", "?filter=optimizer:adam&sort=-duration_s")).toBe(false);
  expect(isShown(VIEW, "table", "?filter=optimizer:sgd&sort=-duration_s")).toBe(false);
});

test("the short address opens the view once", async () => {
  const sent = show("/sweeps/7?view=slow+adam");
  await waitFor(() => expect(window.location.search).toContain("sort=-duration_s"));
  expect(sent.find(one => one.path === "/views")?.query.get("project")).toBe("vision");
});

test("a changed view is marked and its address is not replaced", async () => {
  show("/sweeps/7/table?view=slow+adam&filter=x");
  expect(await screen.findByTitle("slow adam (changed)")).toBeTruthy();
  expect(window.location.search).toBe("?view=slow+adam&filter=x");
});

test("the state of the page is saved for the project", async () => {
  const sent = show("/sweeps/7/table?filter=lr%3C0.1&columns=number");
  await userEvent.click(await screen.findByText("Save this view"));
  await userEvent.type(screen.getByLabelText("Name"), "mine");
  await userEvent.click(screen.getByText("Save", { selector: "button" }));
  await waitFor(() => expect(sent.some(one => one.method === "PUT")).toBe(true));
  expect(sent.find(one => one.method === "PUT")?.body).toEqual({
    ...{ name: "mine", project: "vision", tab: "table", query: { filter: "lr<0.1", columns: "number" } },
  });
});

test("a viewer opens views and saves none", async () => {
  show("/sweeps/7/table", "viewer");
  expect(await screen.findByText("slow adam")).toBeTruthy();
  expect(screen.queryByText("Save this view")).toBeNull();
  expect(screen.queryByTitle("Delete the view slow adam")).toBeNull();
});
