// Commands on a sweep: available by state and role, and confirmed before they are sent.
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { keys } from "../query-keys";
import { SweepActions } from "./actions";
import { sweepFixture } from "./fixture";
import type { Sweep } from "./sweep";

let asked: string[] = [];

function show(sweep: Sweep, role?: string) {
  const queries = new QueryClient();
  if (role) queries.setQueryData(keys.session, { name: "ann", role, expires_at: null });
  asked = [];
  globalThis.fetch = vi.fn(async (input: RequestInfo | URL) => {
    const request = input as Request;
    asked.push(`${request.method} ${new URL(request.url).pathname} ${await request.clone().text()}`.trim());
    return new Response(JSON.stringify(sweep), { headers: { "content-type": "application/json" } });
  });
  HTMLDialogElement.prototype.showModal ??= vi.fn();
  render(
    <QueryClientProvider client={queries}>
      <SweepActions sweep={sweep} />
    </QueryClientProvider>,
  );
}

test("a stop is confirmed first", async () => {
  show(sweepFixture());
  await userEvent.click(screen.getByRole("button", { name: "Stop" }));
  expect(asked).toEqual([]);
  expect(screen.getByText(/2 running trials will finish/)).toBeTruthy();
  await userEvent.click(screen.getByText("Stop the sweep"));
  await waitFor(() => expect(asked).toEqual(["POST /api/v1/sweeps/7/stop"]));
});

test("an extension sends only what was changed", async () => {
  show(sweepFixture({ state: "finished", counts: { finished: 24 } }));
  expect(screen.queryByRole("button", { name: "Stop" })).toBeNull();
  await userEvent.click(screen.getByRole("button", { name: "Extend" }));
  const field = screen.getByLabelText("Total trials");
  await userEvent.clear(field);
  await userEvent.type(field, "36");
  expect(screen.getByText("Up to 12 more trials. The search continues with all previous trials.")).toBeTruthy();
  await userEvent.click(screen.getByText("Extend the sweep"));
  await waitFor(() => expect(asked).toEqual(['PATCH /api/v1/sweeps/7 {"run_cap":36}']));
});

test("a paused sweep is resumed without confirmation", async () => {
  show(sweepFixture({ state: "paused" }));
  await userEvent.click(screen.getByRole("button", { name: "Resume" }));
  await waitFor(() => expect(asked).toEqual(["POST /api/v1/sweeps/7/resume"]));
});

test("a viewer is not offered commands that would be refused", async () => {
  show(sweepFixture(), "viewer");
  await userEvent.click(screen.getByRole("button", { name: "More" }));
  expect(screen.getByText("Download sweep file")).toBeTruthy();
  for (const name of ["Pause", "Stop", "Extend", "Cancel the sweep", "New sweep from this one"])
    expect(screen.queryByText(name)).toBeNull();
});
