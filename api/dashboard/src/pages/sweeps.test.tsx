// The list of sweeps: filtered in the URL, paged, empty, and read-only for viewers.
import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { sweepFixture } from "../sweep/fixture";
import { type Sent, showWithService } from "../testing/component-test-setup";
import { SweepsPage } from "./sweeps";

let sent: Sent[];
const last = () => sent.filter(one => one.path === "/sweeps").at(-1)?.query;

function show(pages: object[][], query = "", role = "admin") {
  window.history.replaceState(null, "", `/${query}`);
  const page = (one: Sent) => {
    const at = one.query.has("after") ? 1 : 0;
    return { items: pages[at] ?? [], next: pages.length > at + 1 ? 7 : null };
  };
  sent = showWithService(<SweepsPage />, { "GET /sweeps": page }, role);
}

const SWEEPS = [sweepFixture({ id: 9, name: "second" }), sweepFixture({ id: 8, name: "first", state: "finished" })];

afterEach(() => vi.unstubAllGlobals());

test("sweeps are listed with links", async () => {
  show([SWEEPS]);
  expect(await screen.findByRole("link", { name: /second/ })).toHaveAttribute("href", "/sweeps/9");
  expect(document.title).toBe("Sweeps · Podium");
});

test("the search follows after a pause, in the URL and in the request", async () => {
  show([SWEEPS]);
  await userEvent.type(await screen.findByLabelText("Filter sweeps"), "res");
  await waitFor(() => expect(window.location.search).toBe("?q=res"));
  await waitFor(() => expect(last()?.get("filter")).toBe("res"));
  expect(sent.map(one => one.query.get("filter"))).not.toContain("r");
});

test("active sweeps are several states", async () => {
  show([SWEEPS]);
  await userEvent.click(await screen.findByRole("button", { name: "Active" }));
  await waitFor(() => expect(last()?.getAll("state")).toEqual(["queued", "running", "paused", "stopping"]));
  expect(screen.getByRole("button", { name: "Active" })).toHaveAttribute("aria-pressed", "true");
});

test("older sweeps are loaded on request", async () => {
  show([SWEEPS, [sweepFixture({ id: 2, name: "oldest" })]]);
  await userEvent.click(await screen.findByRole("button", { name: "Show older sweeps" }));
  expect(await screen.findByRole("link", { name: /oldest/ })).toBeVisible();
  expect(last()?.get("after")).toBe("7");
  expect(screen.queryByRole("button", { name: "Show older sweeps" })).toBeNull();
});

test("a filter without sweeps can be cleared", async () => {
  show([[]], "?q=nothing&state=failed");
  expect(await screen.findByRole("heading", { name: "No matching sweeps" })).toBeVisible();
  await userEvent.click(screen.getByRole("button", { name: "Show all" }));
  expect(window.location.search).toBe("");
});

test("without sweeps a new one is offered", async () => {
  show([[]]);
  expect(await screen.findByRole("heading", { name: "No sweeps yet" })).toBeVisible();
  expect(screen.getAllByRole("link", { name: "New sweep" }).map(link => link.getAttribute("href"))).toEqual([
    "/new",
    "/new",
  ]);
});

test("a viewer is not offered a new sweep", async () => {
  show([[]], "", "viewer");
  expect(await screen.findByRole("heading", { name: "No sweeps yet" })).toBeVisible();
  expect(screen.queryByRole("link", { name: "New sweep" })).toBeNull();
});

test("an unknown state in the URL lists all", async () => {
  show([SWEEPS], "?state=exploded");
  await screen.findByRole("link", { name: /second/ });
  expect(last()?.getAll("state")).toEqual([]);
});
