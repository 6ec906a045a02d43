// The page "New sweep": examples, submission with an idempotency key, copies, problems, and viewers.
import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { EXAMPLES } from "../new-sweep/examples";
import { clearStoredText } from "../new-sweep/sweep-file-draft";
import { type Sent, showWithService } from "../testing/component-test-setup";
import { NewSweepPage } from "./new-sweep";

const READ = { document: {}, numbers: {}, problems: [], notes: [], samples: [], plan: null, wandb: false };
const PROBLEM = { path: ["run_cap"], line: 2, column: 1, message: "must be positive" };
let keys: (string | null)[];

function show(answers: Record<string, unknown> = {}, query = "", role = "admin"): Sent[] {
  clearStoredText();
  clearStoredText("3");
  keys = [];
  window.history.replaceState(null, "", `/new${query}`);
  const sent = showWithService(
    <NewSweepPage />,
    {
      "POST /sweep-files/read": READ,
      "GET /sweeps/3/file": () => new Response("name: copied\n"),
      "POST /sweep-files/submit": { id: 12 },
      ...answers,
    },
    role,
  );
  const service = globalThis.fetch;
  vi.stubGlobal("fetch", async (request: Request | string, options?: RequestInit) => {
    if (typeof request === "string") return Response.json({ properties: {} });
    if (request.url.endsWith("/submit")) keys.push(request.headers.get("idempotency-key"));
    return service(request, options);
  });
  return sent;
}

const editor = () => screen.findByLabelText<HTMLTextAreaElement>("Sweep file");
const start = () => screen.getByRole("button", { name: "Start the sweep" });
const submitted = (sent: Sent[]) => sent.filter(one => one.path === "/sweep-files/submit").map(one => one.body);

afterEach(() => vi.unstubAllGlobals());

test("failed trials are seed configurations of the copy, each configuration once", async () => {
  const sent = show(
    {
      "GET /sweeps/3/trials": {
        items: [
          { params: { lr: 0.5, "opt name": "adam" } },
          { params: { lr: 0.5, "opt name": "adam" } },
          { params: { lr: 1e-7 } },
        ],
        next: null,
      },
      "POST /sweep-files/write": ({ body }: Sent) => ({
        text: `${(body as { text: string }).text}enqueue: seeded # by the service\n`,
      }),
    },
    "?from=3&seeds=state:failed",
  );
  expect((await editor()).value).toBe("name: copied\nenqueue: seeded # by the service\n");
  expect(sent.find(one => one.path === "/sweeps/3/trials")?.query.get("filter")).toBe("state:failed");
  expect(sent.find(one => one.path === "/sweep-files/write")?.body).toEqual({
    text: "name: copied\n",
    changes: [{ path: ["enqueue"], value: '[{lr: 0.5, "opt name": adam}, {lr: 1e-7}]' }],
  });
  expect(screen.getByText(/Copied from sweep 3, with the configurations of its trials state:failed/)).toBeVisible();
});

test("the first example is loaded and can be started", async () => {
  const sent = show();
  const text = (await editor()).value;
  expect(text).toBe(EXAMPLES[0]?.text);
  await waitFor(() => expect(screen.getByText("ready to start")).toBeVisible());
  await userEvent.click(start());
  expect(await screen.findByText("Sweep 12 submitted")).toBeVisible();
  expect(submitted(sent)).toEqual([{ text }]);
  expect(window.location.pathname).toBe("/sweeps/12");
});

test("a repeated submission has the same idempotency key, another text has another", async () => {
  show({ "POST /sweep-files/submit": () => Response.json({ detail: "the service is busy" }, { status: 503 }) });
  await editor();
  await userEvent.click(start());
  await screen.findByText("the service is busy");
  await userEvent.click(start());
  await waitFor(() => expect(keys).toHaveLength(2));
  await userEvent.type(await editor(), "#");
  await waitFor(() => expect(start()).toBeEnabled());
  await userEvent.click(start());
  await waitFor(() => expect(keys).toHaveLength(3));
  expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
  expect(keys[1]).toBe(keys[0]);
  expect(keys[2]).not.toBe(keys[0]);
});

test("problems are counted and prevent the start", async () => {
  show({ "POST /sweep-files/read": { ...READ, problems: [PROBLEM, { ...PROBLEM, line: 3 }] } });
  expect(await screen.findByText("2 problems", { selector: ".new-ready" })).toBeVisible();
  expect(start()).toBeDisabled();
  expect(await editor()).toHaveAttribute("aria-invalid", "true");
});

test("a problem leads to its line", async () => {
  show({ "POST /sweep-files/read": { ...READ, problems: [PROBLEM] } });
  await userEvent.click(await screen.findByRole("button", { name: "Line 2" }));
  const area = await editor();
  expect(area).toHaveFocus();
  expect(area.value.slice(0, area.selectionStart).split("\n")).toHaveLength(2);
});

test("another example replaces an unchanged text without confirmation", async () => {
  show();
  await userEvent.click(await screen.findByRole("button", { name: "Your own script" }));
  expect((await editor()).value).toBe(EXAMPLES[4]?.text);
  expect(screen.getByRole("button", { name: "Your own script" })).toHaveAttribute("aria-pressed", "true");
});

test("changes are discarded only after confirmation", async () => {
  show();
  await userEvent.type(await editor(), "# mine");
  await userEvent.click(screen.getByRole("button", { name: "Your own script" }));
  expect(screen.getByText("Your changes to this sweep file will be lost.")).toBeTruthy();
  expect((await editor()).value).toContain("# mine");
  await userEvent.click(screen.getByText("Discard changes", { selector: "button" }));
  await waitFor(async () => expect((await editor()).value).toBe(EXAMPLES[4]?.text));
});

test("a text survives a reload of the tab", async () => {
  show();
  await userEvent.type(await editor(), "# kept");
  expect(
    [...Array(sessionStorage.length).keys()].map(at => sessionStorage.getItem(sessionStorage.key(at) ?? "")),
  ).toEqual([expect.stringContaining("# kept")]);
});

test("a copy starts from the file of its sweep", async () => {
  show({}, "?from=3");
  expect((await editor()).value).toBe("name: copied\n");
  expect(screen.getByText("Copied from sweep 3")).toBeVisible();
  expect(screen.getByRole("button", { name: "Sweep 3 (original)" })).toHaveAttribute("aria-pressed", "true");
});

test("a sweep that cannot be copied shows the reason", async () => {
  show({ "GET /sweeps/3/file": () => Response.json({ detail: "there is no sweep 3" }, { status: 404 }) }, "?from=3");
  expect(await screen.findByRole("heading", { name: "Not found" })).toBeVisible();
});

test("W&B files are recognized", async () => {
  show({ "POST /sweep-files/read": { ...READ, wandb: true } });
  expect(await screen.findByText(/This file uses W&B syntax/)).toBeVisible();
});

test("a viewer is told how to get permission", () => {
  const sent = show({}, "", "viewer");
  expect(screen.getByRole("heading", { name: "Viewers cannot submit" })).toBeVisible();
  expect(sent).toEqual([]);
});
