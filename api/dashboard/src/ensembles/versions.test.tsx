// New versions of an ensemble, and evaluations on selected rows.
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import type { ReactNode } from "react";
import { keys } from "../query-keys";
import { draftOf, versionHref } from "./draft";
import type { Ensemble } from "./ensemble-types-and-labels";
import { ENSEMBLE } from "./fixture";
import { parseEvaluationCsv } from "./parse-evaluation-csv";
import { EvaluateForm } from "./request-evaluation";
import { BuildVersion } from "./submit-draft";
import { Versions } from "./versions";

let asked: { path: string; body: unknown }[];

function show(children: ReactNode, refusal?: string): void {
  asked = [];
  const queries = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  queries.setQueryData(keys.session, { name: "ann", role: "admin", expires_at: null });
  vi.stubGlobal("fetch", async (request: Request) => {
    if (request.method === "POST") {
      asked.push({ path: new URL(request.url).pathname, body: await request.json().catch(() => null) });
      if (refusal) return Response.json({ detail: refusal }, { status: 409 });
    }
    return Response.json(ENSEMBLE);
  });
  HTMLDialogElement.prototype.showModal ??= vi.fn();
  render(<QueryClientProvider client={queries}>{children}</QueryClientProvider>);
}

afterEach(() => vi.unstubAllGlobals());

async function confirm(name: string) {
  await userEvent.click(
    within(document.querySelector("dialog") as HTMLElement).getByText(name, { selector: "button" }),
  );
}

test("the builder of a version starts from the settings of the ensemble", () => {
  const href = versionHref({ ...ENSEMBLE, quorum: 1, combine: "median", temperature: 1.25, sweep_id: null });
  const [path, query = ""] = href.split("?");
  expect(path).toBe("/sweeps/1/ensemble");
  expect(draftOf(query)).toMatchObject({
    choose: "top_k",
    k: "2",
    combine: "median",
    calibrate: "yes",
    quorum: "1",
    replicas: "1",
  });
  const explicit = { ...ENSEMBLE, selection: { ...ENSEMBLE.selection, method: "explicit" } };
  expect(draftOf(versionHref(explicit).split("?")[1] ?? "")).toMatchObject({ choose: "explicit", trials: "1.0,1.1" });
});

test("a version is built after the effect on the serving version was confirmed", async () => {
  show(<BuildVersion request={{ sweep_id: 1, select: "greedy", k: 2 }} ensembleId={3} />);
  await userEvent.click(screen.getByRole("button", { name: "Build version" }));
  expect(screen.getByText(/serves all requests as soon as all its members are ready/)).toBeTruthy();
  expect(asked).toEqual([]);
  await confirm("Build version");
  await vi.waitFor(() => expect(window.location.pathname).toBe("/ensembles/3"));
  expect(asked).toEqual([
    { path: "/api/v1/ensembles/3/versions", body: { sweep_id: 1, select: "greedy", k: 2, canary_share: null } },
  ]);
});

test("a canary is requested with its share, and a refusal is shown in the dialog", async () => {
  show(<BuildVersion request={{ sweep_id: 1 }} ensembleId={3} />, "version 2 is on its way");
  const share = screen.getByLabelText("Canary, % of the requests");
  await userEvent.type(share, "100");
  expect(screen.getByText("Must be between 0 and 100")).toBeTruthy();
  expect(screen.getByRole("button", { name: "Build version" }).hasAttribute("disabled")).toBe(true);
  await userEvent.clear(share);
  await userEvent.type(share, "12.5");
  await userEvent.click(screen.getByRole("button", { name: "Build version" }));
  expect(screen.getByText(/It serves 12.5 % of the requests/)).toBeTruthy();
  await confirm("Build version");
  expect((await screen.findByRole("alert", { hidden: true })).textContent).toBe("version 2 is on its way");
  expect(asked[0]?.body).toMatchObject({ canary_share: 0.125 });
});

test("a new version is offered while there is no canary", () => {
  show(<Versions ensemble={ENSEMBLE} />);
  expect(screen.getByRole("link", { name: "New version" }).getAttribute("href")).toContain("version_of=3");
});

test("a canary is offered promotion and rollback instead of a new version", async () => {
  show(<Versions ensemble={{ ...ENSEMBLE, canary: 2, canary_share: 0.1 }} />);
  expect(screen.queryByRole("link", { name: "New version" })).toBeNull();
  await userEvent.click(screen.getByRole("button", { name: "Roll back" }));
  expect(screen.getByText("Version 2 cancelled")).toBeTruthy();
  await confirm("Roll back");
  expect(asked.map(({ path }) => path)).toEqual(["/api/v1/ensembles/3/rollback"]);
});

function form(changes: Partial<Ensemble> = {}) {
  return <EvaluateForm ensemble={{ ...ENSEMBLE, ...changes }} primary isRunning={false} onAsked={() => undefined} />;
}

test("the test split is evaluated immediately, the validation split only after a warning", async () => {
  show(form({ canary: 2 }));
  await userEvent.click(screen.getByRole("button", { name: "Evaluate on test" }));
  expect(asked.at(-1)?.body).toEqual({ split: "test", force: false, wait_s: 0 });
  const rows = screen.getByLabelText("Evaluation rows");
  await userEvent.selectOptions(rows, "calibration");
  await userEvent.click(screen.getByRole("button", { name: "Evaluate on calibration" }));
  expect(asked.at(-1)?.body).toEqual({ split: "calibration", force: false, wait_s: 0 });
  await userEvent.selectOptions(rows, "validation");
  await userEvent.selectOptions(screen.getByLabelText("Version to evaluate"), "2");
  await userEvent.click(screen.getByRole("button", { name: "Evaluate on validation" }));
  expect(screen.getByText(/so scores on it are optimistic/)).toBeTruthy();
  expect(asked).toHaveLength(2);
  await confirm("Evaluate");
  await vi.waitFor(() => expect(asked).toHaveLength(3));
  expect(asked.at(-1)?.body).toEqual({ split: "validation", force: true, version: 2, wait_s: 0 });
});

test("custom rows are posted with their classes", async () => {
  show(form());
  await userEvent.selectOptions(screen.getByLabelText("Evaluation rows"), "posted");
  await userEvent.click(screen.getByRole("button", { name: "Evaluate…" }));
  await userEvent.type(screen.getByLabelText("Rows, as CSV"), "1,2,cat");
  await confirm("Evaluate");
  expect((await screen.findByRole("alert", { hidden: true })).textContent).toMatch(
    /Line 1 has 3 values; expected 3 inputs and 1 target/,
  );
  await userEvent.type(screen.getByLabelText("Rows, as CSV"), "{Backspace}{Backspace}{Backspace}3,1\n0,0,1e-3,cat");
  await confirm("Evaluate");
  await vi.waitFor(() => expect(asked).toHaveLength(1));
  expect(asked[0]?.body).toEqual({
    inputs: [
      [1, 2, 3],
      [0, 0, 0.001],
    ],
    targets: [1, "cat"],
    wait_s: 0,
  });
});

test("a header line is skipped, and errors name their line", () => {
  expect(parseEvaluationCsv("a;b;c;y\n1;2;3;dog\n", ENSEMBLE)).toEqual({ inputs: [[1, 2, 3]], targets: ["dog"] });
  expect(() => parseEvaluationCsv("1,2,3,cow", ENSEMBLE)).toThrow(
    "Line 1: “cow” is not a class; the classes are cat, dog.",
  );
  expect(() => parseEvaluationCsv("1,2,3,cat\n1,,3,cat", ENSEMBLE)).toThrow("Line 2: “” is not a number.");
  expect(() => parseEvaluationCsv("a,b,c,y\n", ENSEMBLE)).toThrow("The file contains no rows.");
  const values = { ...ENSEMBLE, task: "regression", classes: ["y1", "y2"] };
  expect(parseEvaluationCsv("1,2,3,0.5,-1", values)).toEqual({ inputs: [[1, 2, 3]], targets: [[0.5, -1]] });
});
