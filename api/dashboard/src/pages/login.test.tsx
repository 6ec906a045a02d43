// The login page: a link's code goes into one request and out of the address; refusals are said; only our places are gone to.

import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { LoginPage, placeOf } from "./login";

const asked: [string, string][] = [];

function answer(...statuses: number[]) {
  asked.length = 0;
  vi.stubGlobal("fetch", async (request: Request) => {
    asked.push([`${request.method} ${new URL(request.url).pathname}`, await request.text()]);
    const status = statuses.shift() ?? 500;
    const body = status === 200 ? { name: "ann", role: "admin", expires_at: null } : { detail: "this link is too old" };
    return Response.json(body, { status });
  });
}

function open(address: string) {
  window.history.replaceState(null, "", address);
  render(
    <QueryClientProvider client={new QueryClient()}>
      <LoginPage />
    </QueryClientProvider>,
  );
}

afterEach(() => vi.unstubAllGlobals());

test("a link logs in once, leaves no code in the address, and leads back", async () => {
  answer(200);
  open("/login?back=%2Fsweeps%2F7%2Fcurves%3Ffilter%3Dlr%253C1#the-code");
  expect(screen.getByRole("status")).toHaveTextContent("Logging in");
  await waitFor(() => expect(window.location.pathname).toBe("/sweeps/7/curves"));
  expect(window.location.search).toBe("?filter=lr%3C1");
  expect(window.location.href).not.toContain("the-code");
  expect(asked).toEqual([["POST /api/v1/session", '{"code":"the-code"}']]);
});

test("a link that is too old says so and leaves the form", async () => {
  answer(401, 401);
  open("/login#old");
  expect(await screen.findByRole("alert")).toHaveTextContent("This link is too old.");
  expect(window.location.hash).toBe("");
  expect(screen.getByLabelText("Or paste a token")).toBeVisible();
});

test("a used link is no matter to who is in already", async () => {
  answer(401, 200);
  open("/login#used");
  await waitFor(() => expect(window.location.pathname).toBe("/"));
});

test("a link that is pasted into the tab is followed", async () => {
  answer(200);
  open("/login");
  window.location.hash = "fresh";
  window.dispatchEvent(new Event("hashchange"));
  await waitFor(() => expect(asked).toEqual([["POST /api/v1/session", '{"code":"fresh"}']]));
});

test("a token logs in, without the blanks around it", async () => {
  answer(200);
  open("/login");
  expect(screen.getByRole("button", { name: "Log in" })).toBeDisabled();
  await userEvent.type(screen.getByLabelText("Or paste a token"), "  podium_x {Enter}");
  await waitFor(() => expect(window.location.pathname).toBe("/"));
  expect(asked[0]?.[1]).toBe('{"token":"podium_x"}');
});

test.each([
  ["/sweeps/1?a=b", "/sweeps/1?a=b"],
  [null, "/"],
  ["", "/"],
  ["//evil.test/x", "/"],
  ["/\\evil.test", "/"],
  ["https://evil.test", "/"],
  ["javascript:alert(1)", "/"],
  ["/login?back=/login", "/"],
])("back to %s is %s", (back, place) => expect(placeOf(back)).toBe(place));
