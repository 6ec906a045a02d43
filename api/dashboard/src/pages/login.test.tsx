// The login page: codes in links, tokens, refusals, and redirects within the dashboard only.

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
    const body =
      status === 200 ? { name: "ann", role: "admin", expires_at: null } : { detail: "the login link has expired" };
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

test("a link logs in once, is removed from the address, and leads back", async () => {
  answer(200);
  open("/login?back=%2Fsweeps%2F7%2Fcurves%3Ffilter%3Dlr%253C1#the-code");
  expect(screen.getByRole("status")).toHaveTextContent("Logging in");
  await waitFor(() => expect(window.location.pathname).toBe("/sweeps/7/curves"));
  expect(window.location.search).toBe("?filter=lr%3C1");
  expect(window.location.href).not.toContain("the-code");
  expect(asked).toEqual([["POST /api/v1/session", '{"code":"the-code"}']]);
});

test("an expired link is reported, and the form remains", async () => {
  answer(401, 401);
  open("/login#old");
  expect(await screen.findByRole("alert")).toHaveTextContent("The login link has expired.");
  expect(window.location.hash).toBe("");
  expect(screen.getByLabelText("Or paste a token")).toBeVisible();
});

test("a used link is ignored if the user is logged in", async () => {
  answer(401, 200);
  open("/login#used");
  await waitFor(() => expect(window.location.pathname).toBe("/"));
});

test("a link pasted into an open tab logs in", async () => {
  answer(200);
  open("/login");
  window.location.hash = "fresh";
  window.dispatchEvent(new Event("hashchange"));
  await waitFor(() => expect(asked).toEqual([["POST /api/v1/session", '{"code":"fresh"}']]));
});

test("a token logs in, without surrounding white space", async () => {
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
