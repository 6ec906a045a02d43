// Every chart is saved as PNG, SVG or CSV: named after the sweep and itself, in light colours, with all its numbers.
import { render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { numberAxis } from "./axis";
import { Contour } from "./contour";
import { Edf } from "./edf";
import { ExportMenu } from "./export";
import { type Figure, fileNameOf, svgOf } from "./export-file";
import { ChartsOf } from "./export-subject";
import { pointsOf } from "./fixture";
import { History } from "./history";
import { Pareto } from "./pareto";
import { Rank } from "./rank";
import { Slice } from "./slice";

const saved: { name: string; text: string }[] = [];

beforeEach(() => {
  saved.length = 0;
  const blobs = new Map<string, Blob>();
  vi.spyOn(URL, "createObjectURL").mockImplementation(blob => {
    blobs.set(`blob:${blobs.size}`, blob as Blob);
    return `blob:${blobs.size - 1}`;
  });
  vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(function (this: HTMLAnchorElement) {
    const name = this.download;
    void blobs
      .get(this.getAttribute("href") ?? "")
      ?.text()
      .then(text => saved.push({ name, text }));
  });
});

afterEach(() => vi.restoreAllMocks());

async function exported(kind: string): Promise<{ name: string; text: string }> {
  await userEvent.click(screen.getByText(kind));
  await waitFor(() => expect(saved).toHaveLength(1));
  return saved[0] as { name: string; text: string };
}

const POINTS = pointsOf({
  state: ["finished", "pruned", "finished"],
  value: [0.5, 0.75, 0.25],
  "params.lr": [0.1, 0.01, 0.001],
  "params.width": [8, 16, 32],
});
const METRIC = numberAxis("value", "loss", [0, 1], { goal: "minimize" });
const LR = numberAxis("params.lr", "lr", [0.001, 0.1], { log: true });
const WIDTH = numberAxis("params.width", "width", [8, 32], { integer: true });
const INSIDE = Uint8Array.of(1, 1, 1);
const SHARES = Float64Array.of(0, Number.NaN, 1);
const LINKED = { points: POINTS, inside: INSIDE, active: null, selected: new Set<number>(), onActive: () => undefined };

test.each([
  ["history", <History key="h" {...LINKED} metric={METRIC} by="number" log={false} />, 4],
  ["history-by-time", <History key="t" {...LINKED} metric={METRIC} by="time" log={false} />, 4],
  ["slice-lr", <Slice key="s" {...LINKED} parameter={LR} metric={METRIC} shares={SHARES} unfinished={[]} />, 4],
  ["rank", <Rank key="r" {...LINKED} x={LR} y={WIDTH} metric={METRIC} shares={SHARES} />, 3],
  ["distribution", <Edf key="e" {...LINKED} metric={METRIC} log={false} />, 3],
  ["contour", <Contour key="c" {...LINKED} x={LR} y={WIDTH} metric={METRIC} shares={SHARES} />, 4],
  ["pareto-front", <Pareto key="p" {...LINKED} x={METRIC} y={{ ...WIDTH, goal: "minimize" }} log={false} />, 4],
])("%s is saved as a table with a row per trial", async (name, chart, lines) => {
  render(<ChartsOf subject="nets, sweep 3">{chart}</ChartsOf>);
  const file = await exported("CSV");
  expect(file.name).toBe(`nets-sweep-3-${name}.csv`);
  const [head, ...rows] = file.text.trimEnd().split("\r\n");
  expect(head).toMatch(/^trial,state,feasible,./);
  expect(rows).toHaveLength(lines - 1);
  const columns = head?.split(",").length;
  for (const row of rows) expect(row.split(",")).toHaveLength(columns ?? 0);
});

test("columns have units, and numbers all their digits", async () => {
  const points = pointsOf({ value: [1 / 3], running_s: [0.1 + 0.2] });
  const seconds = numberAxis("running_s", "running_s", [0, 1], { unit: "duration", goal: "minimize" });
  const linked = { ...LINKED, points, inside: Uint8Array.of(1) };
  render(<Slice {...linked} parameter={METRIC} metric={seconds} shares={Float64Array.of(1)} unfinished={[]} />);
  const { text } = await exported("CSV");
  expect(text).toContain("loss,running time (s),");
  expect(text).toContain("0.3333333333333333,0.30000000000000004,");
});

const FIGURE: Figure = {
  name: "a/b",
  title: "Loss & <width>",
  draw: context => context.fillRect(0, 0, 10, 10),
  legend: [{ sign: "line", token: "--gold", label: "best so far" }],
  rows: () => [["x"], [1]],
};

test("a picture has its title, its subject and its legend, in the light theme", async () => {
  document.documentElement.dataset.theme = "dark";
  render(
    <ChartsOf subject="nets">
      <ExportMenu name="a chart" figure={() => FIGURE} />
    </ChartsOf>,
  );
  let theme: string | undefined;
  FIGURE.draw = () => {
    theme = document.documentElement.dataset.theme;
  };
  const { name, text } = await exported("SVG");
  expect(name).toBe("nets-a-b.svg");
  expect(theme).toBe("light");
  expect(document.documentElement.dataset.theme).toBe("dark");
  const texts = [...new DOMParser().parseFromString(text, "image/svg+xml").querySelectorAll("text")];
  expect(texts.map(each => each.textContent)).toEqual(["Loss & <width>", "nets", "best so far"]);
});

test("an SVG of many points is drawn with circles", async () => {
  const count = 1_000;
  const values = Array.from({ length: count }, (_, row) => row / count);
  const points = pointsOf({ value: values, "params.lr": values });
  render(
    <Rank {...LINKED} points={points} inside={new Uint8Array(count).fill(1)} x={WIDTH} y={METRIC} metric={METRIC} />,
  );
  const { text } = await exported("SVG");
  expect(text).not.toContain("<image");
  expect(text).toMatch(/^<svg xmlns/);
});

test.each([
  ["nets, sweep 3", "history", "nets-sweep-3-history.png"],
  ["../../etc", "x y", "etc-x-y.png"],
  ["größe 模型", "loss", "größe-模型-loss.png"],
  ["", "loss", "loss.png"],
])("the file of %s and %s is %s", (of, chart, name) => expect(fileNameOf(of, chart, "png")).toBe(name));

test("a long title and legend stay inside the picture", async () => {
  const legend = Array.from({ length: 40 }, (_, index) => ({ ...FIGURE.legend?.[0], label: `trial ${index}` }));
  const text = await svgOf({ ...FIGURE, legend } as Figure, "nets").text();
  const [, width, height] = /width="(\d+)" height="(\d+)"/.exec(text)?.map(Number) ?? [];
  for (const [, x, y] of text.matchAll(/<text x="([\d.]+)" y="([\d.]+)"/g)) {
    expect(Number(x)).toBeLessThan(width ?? 0);
    expect(Number(y)).toBeLessThan(height ?? 0);
  }
});
