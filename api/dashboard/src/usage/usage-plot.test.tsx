// One measure over time: values under the pointer, the limit, the exported figure, and what is drawn.
import { fireEvent, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import type { ExportKind, Figure, Rows } from "../charts/export-file";
import { stubSize } from "../testing/component-test-setup";
import { recordingContext } from "../testing/recording-canvas";
import { MEASURES, type Measure, type Point } from "./measures";
import { UsagePlot } from "./usage-plot";

const exported: { figure: Figure; kind: ExportKind }[] = [];
vi.mock("../charts/export-file", () => ({
  exportFigure: async (figure: Figure, kind: ExportKind) => void exported.push({ figure, kind }),
}));

const measureOf = (key: string) => MEASURES.find(measure => measure.key === key) as Measure;
const [MEMORY, CPU, STORAGE, GPU] = ["memory", "cpu", "storage", "gpu"].map(measureOf) as [
  Measure,
  Measure,
  Measure,
  Measure,
];
const LINE: Point[] = [
  [0, 100],
  [10, 400],
  [20, 300],
];

type Shown = { measure?: Measure; lines?: Point[][]; limit?: number | null; killed?: boolean; hovered?: number | null };

function show({ measure = MEMORY, lines = [LINE], limit = null, killed = false, hovered = null }: Shown = {}) {
  stubSize(400);
  const onHover = vi.fn();
  const { container } = render(<UsagePlot {...{ measure, lines, limit, killed, hovered, onHover }} />);
  return { onHover, caption: () => container.querySelector(".usage-value")?.textContent };
}

/** What the picture of the chart consists of. */
async function picture(shown: Shown) {
  const { measure = MEMORY } = shown;
  show(shown);
  exported.length = 0;
  await userEvent.click(screen.getByRole("button", { name: `Export ${measure.name}` }));
  await userEvent.click(screen.getByRole("button", { name: "PNG", hidden: true }));
  const figure = exported[0]!.figure;
  const { context, calls, named } = recordingContext();
  figure.draw(context, figure.size ?? { width: 900, height: 320 });
  const clip = calls.findIndex(call => call.name === "clip");
  return { figure, named, inside: calls.slice(clip + 1) };
}
const textsOf = (rows: Rows) => rows.map(row => row.join(" "));

afterEach(() => vi.unstubAllGlobals());

test("without a pointer the last value is written, with its time", () => {
  expect(show().caption()).toBe("300 MB at 20 s");
});

test("the value nearest to the pointer of any chart is written", () => {
  expect(show({ hovered: 11 }).caption()).toBe("400 MB at 10 s");
});

test("before the first sample the first one is written, after the last one the last", () => {
  expect(show({ hovered: -50 }).caption()).toBe("100 MB at 0 ms");
});

test("after the last sample the last one is written", () => {
  expect(show({ hovered: 900 }).caption()).toBe("300 MB at 20 s");
});

test("each line has its name and its value, a dash without samples", () => {
  const { caption } = show({ measure: STORAGE, lines: [[[1, 2]], []] });
  expect(caption()).toBe("read 2 MB/swritten – at 1.0 s");
});

test("without any sample there is no time", () => {
  expect(show({ lines: [[]] }).caption()).toBe("–");
  expect(screen.getByRole("img", { name: "Memory: no samples" })).toBeVisible();
});

test("the pointer reports its time, and that it left", () => {
  const { onHover } = show({ lines: [LINE] });
  const box = screen.getByRole("img");
  fireEvent.pointerMove(box, { clientX: 120, clientY: 30 });
  fireEvent.pointerMove(box, { clientX: 240, clientY: 30 });
  const [first, second] = onHover.mock.calls.map(([seconds]) => seconds as number) as [number, number];
  expect(first).toBeGreaterThan(0);
  expect(second).toBeGreaterThan(first);
  expect(second).toBeLessThan(20);
  fireEvent.pointerLeave(box);
  expect(onHover).toHaveBeenLastCalledWith(null);
});

test("the limit is written also where it is not drawn", async () => {
  const { figure, inside } = await picture({ limit: 8_000 });
  expect(screen.getByText("limit 8,000 MB")).toBeVisible();
  expect(figure.legend?.map(({ label }) => label)).toEqual(["memory"]);
  expect(inside.filter(call => call.name === "setLineDash")).toEqual([]);
});

test("a limit that is half reached is drawn, dashed, below the top of the chart", async () => {
  const { figure, inside } = await picture({ limit: 700 });
  expect(figure.legend?.map(({ label }) => label)).toEqual(["memory", "limit"]);
  const dashed = inside.findIndex(call => call.name === "setLineDash" && (call.args[0] as number[]).length > 0);
  const [from, to] = inside.slice(dashed).filter(call => call.name === "moveTo" || call.name === "lineTo");
  expect(from?.args[1]).toBe(to?.args[1]);
  expect(Number(from?.args[1])).toBeGreaterThan(10);
});

test("an attempt that was killed at the limit has the limit and a cross at its end, whatever was sampled", async () => {
  const crosses = (calls: { name: string; state: Readonly<Record<string, unknown>> }[]) =>
    calls.filter(call => call.name === "stroke" && call.state.lineWidth === 2.25);
  const killed = await picture({ limit: 8_000, killed: true });
  expect(killed.figure.legend?.map(({ label }) => label)).toEqual(["memory", "limit"]);
  expect(crosses(killed.inside)).toHaveLength(1);
});

test("an attempt that was killed before its first sample has no cross", async () => {
  const { inside } = await picture({ limit: 8_000, killed: true, lines: [[]] });
  expect(inside.filter(call => call.state.lineWidth === 2.25)).toEqual([]);
});

test("a single sample is a dot, a line has none", async () => {
  const single = await picture({ measure: CPU, lines: [[[5, 1.5]]] });
  expect(single.named("arc")).toHaveLength(1);
});

test("several samples are a line through all of them", async () => {
  const { inside, named } = await picture({});
  expect(named("arc")).toEqual([]);
  expect(inside.filter(call => call.name === "lineTo")).toHaveLength(LINE.length);
});

test("a share is drawn on a scale up to 100 %, so that 3 % does not look like full use", async () => {
  const { inside } = await picture({
    measure: GPU,
    lines: [
      [
        [0, 3],
        [9, 3],
      ],
    ],
  });
  const height = Number(inside.find(call => call.name === "lineTo")?.args[1]);
  expect(height).toBeGreaterThan(320 * 0.7); // near the bottom
});

test("the table of the file has a row for each sample of each line", async () => {
  const { figure } = await picture({
    measure: STORAGE,
    lines: [
      [
        [1, 2],
        [2, 3],
      ],
      [[1, 0]],
    ],
  });
  expect(textsOf(await figure.rows())).toEqual(["line time (s) Storage (MB/s)", "read 1 2", "read 2 3", "written 1 0"]);
  expect(figure.name).toBe("usage-storage");
});
