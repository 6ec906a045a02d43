// One metric over the steps of a trial, drawn by uPlot in the theme's colours.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useSize } from "../../canvas";
import { formatCount, formatNumber } from "../../format";
import { SERIES, token, useTheme } from "../../theme";

const HEIGHT = 180;
const AXIS_FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';

const STEPS = Array.from({ length: 10 }, (_, power) => [1, 2, 5].map(each => each * 10 ** power)).flat(); // whole ones

type PlotProps = {
  name: string;
  points: [number, number][];
  series: number;
  objective: boolean;
  logarithmic: boolean;
  group: string;
};

export function Plot({ name, points, series, objective, logarithmic, group }: PlotProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const { width } = useSize(box);
  const theme = useTheme();
  const [at, setAt] = useState<number | null>(null);
  const data = useMemo<uPlot.AlignedData>(
    () => [points.map(([step]) => step), points.map(([, value]) => value)],
    [points],
  );
  const positive = points.every(([, value]) => value > 0);
  const log = logarithmic && positive;
  const few = points.length <= 60;
  const wide = width > 0;

  // biome-ignore lint/correctness/useExhaustiveDependencies: data and width come by the effects below; colours by the theme
  useLayoutEffect(() => {
    if (!box.current || !wide) return;
    plot.current = new uPlot(
      optionsOf(width, SERIES[series % SERIES.length] ?? "", log, few, group, setAt),
      data,
      box.current,
    );
    return () => {
      plot.current?.destroy();
      plot.current = null;
    };
  }, [wide, theme, series, log, few, group]);
  useEffect(() => plot.current?.setData(data), [data]);
  useEffect(() => {
    if (width > 0) plot.current?.setSize({ width, height: HEIGHT });
  }, [width]);

  const shown = (at === null ? undefined : points[at]) ?? points.at(-1);
  return (
    <figure className="curve">
      <figcaption>
        <span className="curve-name mono">{name}</span>
        {objective && <span className="curve-objective">objective</span>}
        {shown && (
          <span className="curve-value">
            {formatNumber(shown[1], 5)} <span className="trial-dim">at step {formatCount(shown[0])}</span>
          </span>
        )}
      </figcaption>
      <div ref={box} className="curve-box" role="img" aria-label={words(name, points)} />
      {logarithmic && !positive && <p className="trial-dim">Not all values are above 0, so the scale is linear.</p>}
    </figure>
  );
}

/** The figures of a curve in a sentence. */
export function words(name: string, points: [number, number][]): string {
  const first = points[0];
  const last = points.at(-1);
  if (!first || !last) return `${name}: no points`;
  let low = first;
  let high = first;
  for (const point of points) {
    if (point[1] < low[1]) low = point;
    if (point[1] > high[1]) high = point;
  }
  const at = ([step, value]: [number, number]) => `${formatNumber(value)} at step ${step}`;
  return `${name}: ${at(first)}, ${at(last)}; lowest ${at(low)}, highest ${at(high)}`;
}

function optionsOf(
  width: number,
  color: string,
  log: boolean,
  few: boolean,
  group: string,
  onPoint: (index: number | null) => void,
): uPlot.Options {
  const axis = {
    stroke: token("--text-2"),
    font: AXIS_FONT,
    ticks: { show: false },
    grid: { stroke: token("--line"), width: 1 },
  };
  return {
    width,
    height: HEIGHT,
    padding: [8, 8, 0, 0],
    legend: { show: false },
    cursor: { sync: { key: group }, drag: { x: false, y: false }, points: { size: 7 } },
    scales: { x: { time: false }, y: log ? { distr: 3 } : {} },
    axes: [
      { ...axis, size: 26, incrs: STEPS, values: (_, steps) => steps.map(formatCount) },
      { ...axis, size: 58, values: (_, values) => values.map(value => (value === null ? "" : formatNumber(value, 3))) },
    ],
    series: [{}, { stroke: token(color), width: 1.75, points: { show: few, size: 4 } }],
    hooks: { setCursor: [self => onPoint(self.cursor.idx ?? null)] },
  };
}
