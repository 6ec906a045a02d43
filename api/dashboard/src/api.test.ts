// Responses of the service: bodies, problem documents, rejected logins, and no response at all.
import { ApiError, api, done, errorFrom, toLogin } from "./api";

const sweep = () => done(api.GET("/api/v1/sweeps/{sweep_id}", { params: { path: { sweep_id: 3 } } }));

beforeEach(() => window.history.replaceState(null, "", "/sweeps/3?filter=lr"));
afterEach(() => vi.unstubAllGlobals());

test("a successful response is its body", async () => {
  vi.stubGlobal("fetch", async () => Response.json({ id: 3 }));
  expect(await sweep()).toEqual({ id: 3 });
});

test("a problem document is an error with its detail and its fields", async () => {
  vi.stubGlobal("fetch", async () =>
    Response.json({ title: "Invalid", detail: "lr is not a number", position: 4 }, { status: 422 }),
  );
  const error = await sweep().catch(caught => caught);
  expect(error).toBeInstanceOf(ApiError);
  expect([error.status, error.message, error.problem.position]).toEqual([422, "lr is not a number", 4]);
});

test.each([
  [{ detail: "", title: "Not found" }, "Not found"],
  [{ detail: ["nested"] }, "The service responded with status 500."],
  ["<html>", "The service responded with status 500."],
  [null, "The service responded with status 500."],
])("the message of %j is %s", (body, message) => expect(errorFrom(500, body).message).toBe(message));

test("a service that is down is status 0", async () => {
  vi.stubGlobal("fetch", async () => {
    throw new TypeError("Failed to fetch");
  });
  await expect(sweep()).rejects.toMatchObject({ status: 0, message: expect.stringContaining("podium serve") });
});

test("an aborted request is not reported as a service that is down", async () => {
  vi.stubGlobal("fetch", async () => {
    throw new DOMException("stopped", "AbortError");
  });
  await expect(sweep()).rejects.toMatchObject({ name: "AbortError" });
});

test("a 401 leads to the login page and back", async () => {
  vi.stubGlobal("fetch", async () => Response.json({ detail: "no session" }, { status: 401 }));
  await expect(sweep()).rejects.toMatchObject({ status: 401 });
  expect(window.location.pathname + window.location.search).toBe("/login?back=%2Fsweeps%2F3%3Ffilter%3Dlr");
});

test("the login page does not lead back to itself", () => {
  window.history.replaceState(null, "", "/login?back=%2Fdevices");
  toLogin();
  expect(window.location.search).toBe("?back=%2Fdevices");
});
