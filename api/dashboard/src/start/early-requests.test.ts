// Requests ahead of the application: each response is used once, and only while it is fresh.
import { sendAhead, takeAhead } from "./early-requests";

const asked = (path: string, init?: RequestInit) => new Request(new URL(path, window.location.origin), init);
let sent: string[];

beforeEach(() => {
  sent = [];
  vi.stubGlobal("fetch", async (what: string | Request) => {
    const path = typeof what === "string" ? what : new URL(what.url).pathname;
    sent.push(path);
    if (path === "/lost" && sent.length === 1) throw new TypeError("Failed to fetch");
    return new Response(path, { status: path === "/refused" && sent.length === 1 ? 401 : 200 });
  });
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

test("the response is taken once, whatever the order of the query", async () => {
  sendAhead("/rows?sort=best&limit=100");
  const answer = await takeAhead(asked("/rows?limit=100&sort=best"));
  expect(await answer?.text()).toBe("/rows?sort=best&limit=100");
  expect(takeAhead(asked("/rows?limit=100&sort=best"))).toBeUndefined();
  expect(sent).toHaveLength(1);
});

test("another request, and one that changes something, are not answered", () => {
  sendAhead("/rows?sort=best");
  expect(takeAhead(asked("/rows?sort=number"))).toBeUndefined();
  expect(takeAhead(asked("/rows?sort=best"))).toBeDefined();
  sendAhead("/rows?sort=best");
  expect(takeAhead(asked("/login", { method: "POST" }))).toBeUndefined();
  expect(takeAhead(asked("/rows?sort=best"))).toBeUndefined();
});

test("an old response is not used: the event stream does not repeat older changes", () => {
  sendAhead("/rows");
  const now = performance.now();
  vi.spyOn(performance, "now").mockReturnValue(now + 2_500);
  expect(takeAhead(asked("/rows"))).toBeUndefined();
});

test.each(["/lost", "/refused"])("a request that failed is sent again: %s", async path => {
  sendAhead(path);
  expect((await takeAhead(asked(path)))?.status).toBe(200);
  expect(sent).toEqual([path, path]);
});
