// The application frame: routes, unknown addresses, keyboard shortcuts, and errors of one page.
import { render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { App } from "./app";

class SilentSource {
  onopen = null;
  onerror = null;
  readyState = 0;
  addEventListener() {}
  close() {}
}

function open(path: string) {
  window.history.replaceState(null, "", path);
  vi.stubGlobal("EventSource", SilentSource);
  vi.stubGlobal("fetch", async (request: Request | string) => {
    const path = new URL(typeof request === "string" ? `http://x${request}` : request.url).pathname;
    if (path.endsWith("/session")) return Response.json({ name: "ann", role: "admin", expires_at: null });
    if (path.endsWith("/sweeps")) return Response.json({ items: [], next: null });
    if (path.endsWith("/devices") || path.endsWith("/ensembles")) return Response.json([]);
    return Response.json({ detail: `nothing at ${path}` }, { status: 404 });
  });
  HTMLDialogElement.prototype.showModal ??= vi.fn();
  render(<App />);
}

const title = (name: string) => screen.findByRole("heading", { name });

afterEach(() => vi.unstubAllGlobals());

test.each([
  ["/", "Sweeps"],
  ["/devices", "Devices"],
  ["/ensembles", "Ensembles"],
])("%s is the page %s", async (path, name) => {
  open(path);
  expect(await title(name)).toBeVisible();
});

test.each(["/nowhere", "/trials/abc", "/trials/0", "/sweeps/1e3", "/ensembles/99999999999999999"])(
  "%s does not exist",
  async path => {
    open(path);
    expect(await title("Page not found")).toBeVisible();
    expect(document.title).toBe("Page not found · Podium");
  },
);

test("a missing trial is reported with its id", async () => {
  open("/trials/9");
  expect(await title("Trial id 9 not found")).toBeVisible();
});

test("the login page has no top bar", async () => {
  open("/login");
  expect(await title("Log in")).toBeVisible();
  expect(screen.queryByRole("banner")).toBeNull();
});

test("key sequences open pages, and ? lists them", async () => {
  open("/");
  await title("Sweeps");
  await userEvent.keyboard("gd");
  await waitFor(() => expect(window.location.pathname).toBe("/devices"));
  await userEvent.keyboard("gs");
  await waitFor(() => expect(window.location.pathname).toBe("/"));
  await userEvent.keyboard("?");
  const dialog = document.querySelector("dialog") as HTMLElement;
  expect(dialog.textContent).toContain("Keyboard shortcuts");
  expect(dialog.textContent).toContain("go to the devices");
});

test("the navigation marks the current section", async () => {
  open("/devices");
  await title("Devices");
  expect(screen.getByRole("link", { name: "Devices" })).toHaveAttribute("aria-current", "page");
  expect(screen.getByRole("link", { name: "Sweeps" })).not.toHaveAttribute("aria-current");
});
