// Which service leads and which stand by: shown only if the database may have several.
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen, waitFor } from "@testing-library/react";
import { type Services, ServicesLine } from "./leader-status";

const LEADER = {
  host: "alpha",
  url: "http://10.0.0.5:8300",
  epoch: 3,
  held_s: 120,
  renewed_s: 1,
  expired: false,
  answers: false,
};
const STANDBY = { host: "beta", url: "http://10.0.0.6:8300", waits_s: 60, seen_s: 0.5, answers: true };

function show(services: Services) {
  const fetched = vi.fn(async () => new Response(JSON.stringify(services), { status: 200 }));
  vi.stubGlobal("fetch", fetched);
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  render(
    <QueryClientProvider client={client}>
      <ServicesLine />
    </QueryClientProvider>,
  );
  return fetched;
}

afterEach(() => vi.unstubAllGlobals());

test("the leader, its epoch and the age of its lease, and who stands by", async () => {
  show({ leader: LEADER, standbys: [STANDBY] });
  const line = await screen.findByText(/alpha leads/);
  expect(line.textContent).toMatch(
    /alpha leads for 2.*, epoch 3, lease renewed 1.* ago\. beta \(this service\) stands by\./,
  );
});

test("an expired lease, and nobody who stands by", async () => {
  show({ leader: { ...LEADER, renewed_s: 40, expired: true }, standbys: [] });
  const line = await screen.findByText(/its lease has expired/);
  expect(line.textContent).toContain("No service stands by.");
});

test("nothing for a service that is alone", async () => {
  const fetched = show({ leader: { ...LEADER, epoch: 0, answers: true }, standbys: [] });
  await waitFor(() => expect(fetched).toHaveBeenCalled());
  expect(screen.queryByText(/leads/)).toBeNull();
});
