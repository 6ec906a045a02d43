// The top bar: the user, the note for viewers, and the login when the session has expired.
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen, waitFor } from "@testing-library/react";
import { TopBar } from "./top-bar";

function open(status: number, session: object) {
  window.history.replaceState(null, "", "/sweeps/3");
  vi.stubGlobal("fetch", async () => Response.json(session, { status }));
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      <TopBar onHelp={() => undefined} onSearch={() => undefined} />
    </QueryClientProvider>,
  );
}

afterEach(() => vi.unstubAllGlobals());

test("a viewer is told that access is read-only", async () => {
  open(200, { name: "ann", role: "viewer", expires_at: null });
  expect(await screen.findByText("View only")).toBeVisible();
  expect(screen.getByRole("button", { name: "Log out ann (viewer)" })).toBeVisible();
});

test("an admin is not told that access is read-only", async () => {
  open(200, { name: "admin", role: "admin", expires_at: null });
  expect(await screen.findByRole("button", { name: "Log out admin (admin)" })).toBeVisible();
  expect(screen.queryByText("View only")).toBeNull();
});

test("an expired session leads to the login and back", async () => {
  open(401, { detail: "the session has expired" });
  await waitFor(() => expect(window.location.pathname + window.location.search).toBe("/login?back=%2Fsweeps%2F3"));
});
