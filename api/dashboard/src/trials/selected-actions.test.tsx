// Confirmation of commands on the selected trials.
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { keys } from "../query-keys";
import { select } from "../selection";
import { sweepFixture } from "../sweep/fixture";
import { SelectedActions } from "./selected-actions";

test.each([
  ["finished", "The sweep is finished; a retry restarts it."],
  ["failed", "The sweep has failed; a retry restarts it."],
  ["running", ""],
])("the confirmation of a retry in a sweep that is %s states the effect on the sweep", async (state, words) => {
  const queries = new QueryClient();
  queries.setQueryData(keys.session, { name: "ann", role: "admin", expires_at: null });
  queries.setQueryData(keys.sweep(7, "itself"), sweepFixture({ state }));
  globalThis.fetch = vi.fn(async () => Response.json(sweepFixture({ state })));
  HTMLDialogElement.prototype.showModal ??= vi.fn();
  select(7, [1, 2]);
  render(
    <QueryClientProvider client={queries}>
      <SelectedActions sweepId={7} />
    </QueryClientProvider>,
  );
  await userEvent.click(screen.getByRole("button", { name: "Retry" }));
  const text = screen.getByText(/Failed and cancelled trials run again\./);
  expect(text.textContent).toBe(`Failed and cancelled trials run again. ${words}`);
});
