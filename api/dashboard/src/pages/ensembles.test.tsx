// The page "Ensembles", and the builder on a sweep's page, with a stubbed service.
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import type { ReactNode } from "react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Builder } from "../ensembles/builder";
import { ENSEMBLE, FIGURES } from "../ensembles/fixture";
import { select } from "../selection";
import { EnsemblesPage } from "./ensembles";

const SESSION = { role: "admin", name: "admin", how: "cookie", expires_at: null };
const CONTENDERS = [11, 12].map((trial_id, number) => ({
  trial_id,
  number,
  sweep_id: 1,
  value: 0.9 - number / 10,
  weight: 0,
  scores: { accuracy: 0.9 - number / 10, log_loss: 0.3 + number / 10 },
}));
const PREVIEW = {
  task: "classification",
  goal: "maximize",
  classes: ["cat", "dog"],
  quorum: 2,
  note: "",
  candidates: 2,
  contenders: CONTENDERS,
  path: [],
  member_ids: [11, 12],
  weights: [0.5, 0.5],
  temperature: 1,
  figures: { ...FIGURES, split: "calibration" },
  rows_there: 8,
  unknown: "",
};

type Answer = { status?: number; body: unknown };
let answers: Record<string, Answer>;
let asked: { path: string; body: unknown }[];

beforeEach(() => {
  window.history.replaceState(null, "", "/");
  select(1, []);
  asked = [];
  answers = { "/api/v1/session": { body: SESSION }, "/api/v1/ensembles/preview": { body: PREVIEW } };
  vi.stubGlobal("fetch", async (request: Request) => {
    const path = new URL(request.url).pathname;
    asked.push({ path, body: request.method === "POST" ? await request.json() : null });
    const { status = 200, body } = answers[path] ?? { status: 404, body: { detail: `no ${path}` } };
    return new Response(JSON.stringify(body), { status, headers: { "Content-Type": "application/json" } });
  });
});
afterEach(() => vi.unstubAllGlobals());

function show(children: ReactNode): void {
  const queries = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  render(<QueryClientProvider client={queries}>{children}</QueryClientProvider>);
}

test("renders a row for each ensemble with its state and its ready members", async () => {
  answers["/api/v1/ensembles"] = {
    body: { items: [ENSEMBLE, { ...ENSEMBLE, id: 2, name: "old", state: "retired" }], next: null },
  };
  show(<EnsemblesPage />);
  const row = await screen.findByRole("row", { name: /small-1 ready 2 of 2 21 ms Mean/ });
  expect(row).toBeInTheDocument();
  expect(screen.queryByText("old")).not.toBeInTheDocument();
  await userEvent.click(screen.getByRole("checkbox", { name: "Show retired" }));
  expect(screen.getByRole("link", { name: "old" })).toHaveAttribute("href", "/ensembles/2");
  expect(window.location.search).toBe("?show=all");
});

test("an empty list links to the sweeps", async () => {
  answers["/api/v1/ensembles"] = { body: { items: [], next: null } };
  show(<EnsemblesPage />);
  expect(await screen.findByText("No ensembles yet")).toBeInTheDocument();
  expect(screen.getByRole("link", { name: "Choose a sweep" })).toHaveAttribute("href", "/");
});

test("a failed request is reported with a retry", async () => {
  answers["/api/v1/ensembles"] = { status: 503, body: { detail: "the database is busy" } };
  show(<EnsemblesPage />);
  expect(await screen.findByText("the database is busy")).toBeInTheDocument();
  expect(screen.getByRole("button", { name: "Retry" })).toBeInTheDocument();
});

test("the preview is shown immediately, and a checkbox makes the selection explicit", async () => {
  show(<Builder sweepId={1} metric="val_accuracy" />);
  expect(await screen.findByText("2 members, quorum 2")).toBeInTheDocument();
  expect(screen.getByText(/8 calibration rows; the test split is not used/)).toBeInTheDocument();
  const second = screen.getByRole("checkbox", { name: "Trial 1 is a member" });
  expect(second).toBeChecked();
  await userEvent.click(second);
  expect(new URLSearchParams(window.location.search).get("trials")).toBe("1.0");
  await vi.waitFor(() => expect(asked.at(-1)?.body).toMatchObject({ trial_ids: [11] }));
});

test("a build requests what was previewed and opens the new ensemble", async () => {
  window.history.replaceState(null, "", "/?choose=greedy&k=2&calibrate=yes");
  answers["/api/v1/ensembles"] = { status: 201, body: ENSEMBLE };
  show(<Builder sweepId={1} metric="val_accuracy" />);
  await screen.findByText("2 members, quorum 2");
  await userEvent.type(screen.getByRole("textbox", { name: "Name of the ensemble" }), "mine");
  const build = screen.getByRole("button", { name: "Build" });
  await vi.waitFor(() => expect(build).toBeEnabled());
  await userEvent.click(build);
  await vi.waitFor(() => expect(window.location.pathname).toBe("/ensembles/3"));
  const { body } = asked.find(({ path }) => path === "/api/v1/ensembles") ?? {};
  expect(body).toMatchObject({ sweep_id: 1, select: "greedy", k: 2, calibrate: true, name: "mine" });
});

test("a refusal replaces the preview, and an invalid field shows its problem", async () => {
  show(<Builder sweepId={1} metric="val_accuracy" />);
  await screen.findByText("2 members, quorum 2");
  answers["/api/v1/ensembles/preview"] = { status: 422, body: { detail: "k is 9, but only 2 trials" } };
  const k = screen.getByRole("spinbutton", { name: "How many (k)" });
  await userEvent.clear(k);
  expect(screen.getByText("Must be an integer from 1 to 1,000")).toBeInTheDocument();
  await userEvent.type(k, "9");
  expect(await screen.findByText("k is 9, but only 2 trials.")).toBeInTheDocument();
  expect(screen.getByRole("button", { name: "Build" })).toBeDisabled();
});

test("trials selected in the table can be used as members", async () => {
  select(1, [12]);
  show(<Builder sweepId={1} metric="val_accuracy" />);
  await userEvent.click(await screen.findByRole("button", { name: "Use the 1 selected in the table" }));
  expect(new URLSearchParams(window.location.search).get("trials")).toBe("1.1");
});

test("a viewer sees the preview but cannot build", async () => {
  answers["/api/v1/session"] = { body: { ...SESSION, role: "viewer" } };
  show(<Builder sweepId={1} metric="val_accuracy" />);
  await screen.findByText("2 members, quorum 2");
  expect(screen.getByRole("button", { name: "Build" })).toBeDisabled();
});
