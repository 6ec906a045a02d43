// The timeline by trial: keys, pointer, both modes, the drawing of thousands of rows, and the exported table.
import { fireEvent, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { csvOf } from "../charts/export-file";
import { stubSize } from "../testing/component-test-setup";
import { recordingContext } from "../testing/recording-canvas";
import { attemptsOf, rowCount, spanOf } from "./attempts";
import { AXIS, drawAttempts, GUTTER } from "./draw-attempts";
import { timelineFixture } from "./fixture";
import { moved, TrialTimelineChart } from "./trials-timeline";
import { trialTimelineFigure } from "./trials-timeline-export";

const FEW = attemptsOf(
  timelineFixture([
    { number: 0, state: "failed", cause: "node_lost", queued: 0, start: 1, end: 5 },
    { number: 0, attempt: 2, queued: 5, start: 9, end: 20 },
    { number: 1, state: "running", queued: 2, start: 6 },
  ]),
);
const MANY = attemptsOf(
  timelineFixture(
    Array.from({ length: 10_000 }, (_, number) => ({ number, queued: number, start: number + 1, end: number + 9 })),
  ),
);
const NOW = 1_700_000_030;

afterEach(() => {
  vi.unstubAllGlobals();
  window.history.replaceState(null, "", "/");
});

function show(attempts = FEW, asRows = false) {
  stubSize(800);
  const onAsRows = vi.fn();
  render(<TrialTimelineChart attempts={attempts} sweepId={1} now={NOW} asRows={asRows} onAsRows={onAsRows} />);
  return { chart: screen.getByRole("group"), onAsRows };
}

test("arrow keys step through the attempts, and Enter opens the trial", async () => {
  const { chart } = show();
  expect(chart).toHaveAccessibleName(/^Timeline of 2 trials: 1 running, 1 repeated attempts\./);
  chart.focus();
  await userEvent.keyboard("{ArrowRight}{ArrowRight}");
  expect(screen.getByRole("link", { name: "Trial 0, attempt 2: finished" })).toHaveAttribute(
    "href",
    "/sweeps/1/trials/0",
  );
  await userEvent.keyboard("{ArrowDown}");
  expect(screen.getByRole("link", { name: "Trial 1: running" })).toBeVisible();
  await userEvent.keyboard("{Enter}");
  expect(window.location.pathname).toBe("/sweeps/1/trials/1");
  await userEvent.keyboard("{Escape}");
  expect(screen.queryByRole("link")).toBeNull();
});

test("the pointer describes the attempt under it, with its device", () => {
  show();
  fireEvent.pointerMove(screen.getByRole("img"), { clientX: 790, clientY: 30, pointerType: "mouse" });
  expect(screen.getAllByText(/on gpu-0, queued for 4.0 s, running for 24 s/)[0]).toBeInTheDocument();
});

test("thousands of trials are shown at once or as rows", async () => {
  const { onAsRows } = show(MANY);
  expect(screen.getByRole("button", { name: "All 10,000 trials" })).toHaveAttribute("aria-pressed", "true");
  await userEvent.click(screen.getByRole("button", { name: "Rows" }));
  expect(onAsRows).toHaveBeenCalledWith(true);
});

test("few trials have no modes", () => {
  show();
  expect(screen.queryByRole("button", { name: "Rows" })).toBeNull();
});

test("keys move by rows and pages, and stop at the ends", () => {
  expect(moved(MANY, null, "ArrowDown", 20)).toBe(0);
  expect(moved(MANY, 5, "PageDown", 20)).toBe(25);
  expect(moved(MANY, 5, "PageUp", 20)).toBe(0);
  expect(moved(MANY, 0, "End", 20)).toBe(9_999);
  expect(moved(FEW, 1, "ArrowUp", 5)).toBe(0);
  expect(moved([], null, "Home", 5)).toBeNull();
  expect(moved(FEW, 0, "j", 5)).toBeUndefined();
});

test("only the rows in view are drawn, with the axis fitted to them", () => {
  const { context, named } = recordingContext();
  const size = { width: 800, height: 460 + AXIS };
  const scene = { attempts: MANY, rows: 10_000, row: 20, top: 100_000, now: NOW, lit: null, active: null };
  const span = spanOf(MANY.slice(5_000, 5_023), NOW);
  drawAttempts(context, size, { ...scene, span });
  const bars = named("fillRect");
  expect(bars.length).toBeLessThan(60);
  for (const { args } of bars) expect(Number(args[0])).toBeGreaterThanOrEqual(GUTTER - 1);
  expect(named("fillText").map(({ args }) => args[0])).toContain("5000");
});

test("rows of less than a pixel are one pixel high", () => {
  const { context, named } = recordingContext();
  const row = 460 / 10_000;
  const scene = { attempts: MANY, rows: 10_000, row, top: 0, now: NOW, lit: null, active: null };
  drawAttempts(context, { width: 800, height: 460 + AXIS }, { ...scene, span: spanOf(MANY, NOW) });
  const heights = new Set(named("fillRect").map(({ args }) => args[3]));
  expect([...heights]).toEqual([1]);
});

test("a repeated attempt is marked with its number", () => {
  const { context, named } = recordingContext();
  const scene = { attempts: FEW, rows: rowCount(FEW), row: 20, top: 0, now: NOW, lit: 100, active: FEW[1] ?? null };
  drawAttempts(context, { width: 800, height: 40 + AXIS }, { ...scene, span: spanOf(FEW, NOW) });
  expect(named("fillText").map(({ args }) => args[0])).toContain("↻2");
  expect(named("strokeRect")).toHaveLength(1);
});

test("the table has every attempt with its times and devices", async () => {
  const figure = trialTimelineFigure(FEW, NOW);
  const [head, first, second, third] = (await csvOf(await figure.rows()).text()).split("\r\n");
  expect(head).toBe("trial,attempt,state,cause,devices,queued at,started at,ended at,queued (s),running (s)");
  expect(first).toBe(
    "0,1,failed,node_lost,gpu-0,2023-11-14T22:13:20.000Z,2023-11-14T22:13:21.000Z,2023-11-14T22:13:25.000Z,1,4",
  );
  expect(second).toMatch(/^0,2,finished,,gpu-0,.*,4,11$/);
  expect(third).toMatch(/^1,1,running,,gpu-0,.*,,4,24$/);
  expect(figure.legend?.map(({ label }) => label)).toEqual([
    ...["finished", "failed", "running", "in the queue"],
    "↻ and a line at the start: a repeated attempt",
  ]);
});
