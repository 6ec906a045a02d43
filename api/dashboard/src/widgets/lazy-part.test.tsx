// Parts that load on first use: shown when loaded, reloaded once when gone, and retried when the service is away.
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, renderHook, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import type { ReactNode } from "react";
import { ErrorBoundary } from "./error-boundary";
import { pagePart, part, useLoadedAhead } from "./lazy-part";
import { Toasts } from "./toast";

const Chart = ({ of }: { of: string }) => <p>chart of {of}</p>;
let name: string;
let reload: ReturnType<typeof vi.fn>;

function show(
  load: () => Promise<typeof Chart>,
  answer: () => Promise<Response> = async () => new Response(),
  Part = part(name, load),
) {
  vi.stubGlobal("fetch", answer);
  return render(
    <ErrorBoundary>
      <Part of="lr" />
      <Toasts />
    </ErrorBoundary>,
  );
}

const gone = async () => {
  throw new TypeError("Failed to fetch dynamically imported module");
};
const away = async () => {
  throw new TypeError("Failed to fetch");
};

beforeEach(() => {
  name = `the part ${Math.random()}`;
  reload = vi.spyOn(window.location, "reload").mockImplementation(() => undefined) as never;
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

test("a part shows a named loading state, then its content", async () => {
  show(async () => Chart);
  expect(screen.getByRole("status", { name: `Loading ${name}` })).toBeInTheDocument();
  expect(await screen.findByText("chart of lr")).toBeVisible();
  expect(reload).not.toHaveBeenCalled();
});

test("the title of a page that is not loaded is the heading of the page, that of another part is not", async () => {
  show(gone, away, pagePart(name, gone));
  expect(await screen.findByRole("heading", { level: 1, name: "Not loaded" })).toBeVisible();
  show(gone, away);
  expect(await screen.findByRole("heading", { level: 2, name: "Not loaded" })).toBeVisible();
});

test("a part that the service no longer has reloads the page once, then is reported", async () => {
  const first = show(gone);
  await waitFor(() => expect(reload).toHaveBeenCalledTimes(1));
  expect(screen.getByRole("status", { name: `Loading ${name}` })).toBeInTheDocument();
  first.unmount();

  show(gone);
  expect(await screen.findByRole("alert")).toHaveTextContent(`The service has no file for ${name}, also after`);
  expect(reload).toHaveBeenCalledTimes(1);
  await userEvent.click(screen.getByRole("button", { name: "Reload the page" }));
  expect(reload).toHaveBeenCalledTimes(2);
});

test("after the reload, the upgrade is announced, and another one may reload again", async () => {
  show(gone).unmount();
  await waitFor(() => expect(reload).toHaveBeenCalledTimes(1));
  show(async () => Chart).unmount();
  show(async () => Chart);
  expect(await screen.findByText("Podium has been upgraded. The page was reloaded.")).toBeVisible();
  show(gone);
  await waitFor(() => expect(reload).toHaveBeenCalledTimes(2));
});

test("without the service, nothing is reloaded and Retry loads the part", async () => {
  let isBack = false;
  show(async () => (isBack ? Chart : gone()), away);
  expect(await screen.findByRole("alert")).toHaveTextContent("No response from the service.");
  expect(reload).not.toHaveBeenCalled();
  isBack = true;
  await userEvent.click(screen.getByRole("button", { name: "Retry" }));
  expect(await screen.findByText("chart of lr")).toBeVisible();
});

test("parts can be loaded ahead once the page has its data and the browser is idle, without errors", async () => {
  vi.stubGlobal("requestIdleCallback", (run: () => void) => setTimeout(run));
  vi.stubGlobal("cancelIdleCallback", () => undefined);
  const load = vi.fn(async () => Chart);
  const lost = vi.fn(gone);
  const queries = new QueryClient();
  let answer: (value: string) => void = () => undefined;
  void queries.prefetchQuery({ queryKey: ["page"], queryFn: () => new Promise<string>(done => (answer = done)) });
  const parts = [part(name, load), part(`${name} too`, lost)];
  const { unmount } = renderHook(() => useLoadedAhead(parts), {
    wrapper: ({ children }) => <QueryClientProvider client={queries}>{children}</QueryClientProvider>,
  });
  await new Promise(passed => setTimeout(passed, 700));
  expect(load).not.toHaveBeenCalled();
  answer("data");
  await waitFor(() => expect([load, lost].map(each => each.mock.calls.length)).toEqual([1, 1]), { timeout: 3_000 });
  unmount();
  expect(reload).not.toHaveBeenCalled();
});

test("parts are loaded ahead one after the other", async () => {
  vi.stubGlobal("requestIdleCallback", (run: () => void) => setTimeout(run));
  vi.stubGlobal("cancelIdleCallback", () => undefined);
  let arrive: (loaded: typeof Chart) => void = () => undefined;
  const first = vi.fn(() => new Promise<typeof Chart>(done => (arrive = done)));
  const second = vi.fn(async () => Chart);
  const parts = [part(name, first), part(`${name} too`, second)];
  const queries = new QueryClient();
  const wrapper = ({ children }: { children: ReactNode }) => (
    <QueryClientProvider client={queries}>{children}</QueryClientProvider>
  );
  const { unmount } = renderHook(() => useLoadedAhead(parts), { wrapper });
  await waitFor(() => expect(first).toHaveBeenCalled(), { timeout: 3_000 });
  await new Promise(passed => setTimeout(passed, 50));
  expect(second).not.toHaveBeenCalled();
  arrive(Chart);
  await waitFor(() => expect(second).toHaveBeenCalled());
  unmount();
});

test("an error of the content itself belongs to the page", async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  show(async () => () => {
    throw new Error("no such axis");
  });
  expect(await screen.findByText("no such axis")).toBeVisible();
  expect(screen.getByRole("heading", { name: "Failed to load" })).toBeVisible();
});

test("a part that was loaded ahead is shown at once", async () => {
  const Part = part(name, async () => Chart);
  await Part.fetchAhead();
  render(<Part of="lr" />);
  expect(screen.getByText("chart of lr")).toBeVisible();
});
