// The best value so far of several sweeps over their trials or their time, one chart for each metric.
import { useCallback, useMemo, useState } from "react";
import { useLocation } from "wouter";
import { type Axis, type Goal, numberAxis, placeOn, withRoom } from "../../charts/axis";
import type { Rows } from "../../charts/export-file";
import type { LegendItem } from "../../charts/legend";
import { Plot } from "../../charts/plot";
import { clipped, type Frame, type Point, xAt, yAt } from "../../charts/plot-area-and-grid";
import { spansDecades } from "../../charts/result-axis-scale";
import { formatCount, formatDuration, formatNumber } from "../../format";
import { ruleText } from "../../sweep/sweep";
import { SERIES, token } from "../../theme";
import { trialHref } from "../../trials/trial-references";
import { Panel } from "../../widgets/panel";
import { Select } from "../../widgets/select";
import type { History } from "./queries";

type By = "number" | "time";
type Props = {
  histories: readonly History[];
  by: By;
  onBy: (by: By) => void;
  colours: ReadonlyMap<number, number>;
};

export function Histories({ histories, by, onBy, colours }: Props) {
  const metrics = new Map<string, History[]>();
  for (const each of histories) {
    const rule = ruleText(each.value_rule, each.goal);
    const key = `${each.metric} (${[each.goal, rule].filter(Boolean).join(", ")})`; // other values are not comparable
    metrics.set(key, [...(metrics.get(key) ?? []), each]);
  }
  const options = [
    { value: "number", name: "trial number" },
    { value: "time", name: "time since the start" },
  ];
  const actions = <Select label="By" value={by} options={options} onChange={value => onBy(value as By)} />;
  return (
    <Panel title="Best so far" hint="The best value of each sweep." actions={actions}>
      {[...metrics].map(([key, members]) => (
        <Chart key={key} title={key} histories={members} by={by} colours={colours} />
      ))}
    </Panel>
  );
}

type ChartProps = { title: string; histories: readonly History[]; by: By; colours: ReadonlyMap<number, number> };

function Chart({ title, histories, by, colours }: ChartProps) {
  const [active, setActive] = useState<number | null>(null);
  const [, go] = useLocation();
  const metric = histories[0]?.metric ?? "";
  const shown = useMemo(() => histories.filter(each => each.improvements.length > 0), [histories]);
  const lines = useMemo(() => shown.map(each => stepsOf(each, by)), [shown, by]);
  const { x, y } = useMemo(() => axesOf(lines, metric, histories[0]?.goal as Goal, by), [lines, metric, histories, by]);
  const items = useMemo(
    () => shown.flatMap((each, line) => each.improvements.map((one, at) => ({ line, at, one, sweep: each }))),
    [shown],
  );
  const pointOf = useCallback(
    (item: number, frame: Frame): Point => {
      const found = items[item];
      if (!found) return { x: Number.NaN, y: Number.NaN };
      return pointAt(frame, x, y, acrossOf(found.one, by), found.one.value);
    },
    [items, x, y, by],
  );
  const draw = useCallback(
    (context: CanvasRenderingContext2D, frame: Frame) =>
      clipped(context, frame, () => {
        for (const [line, points] of lines.entries()) {
          context.strokeStyle = context.fillStyle = colourOf(shown[line]?.sweep_id ?? 0, colours);
          context.lineWidth = 2;
          context.beginPath();
          for (const [at, [across, value]] of points.entries()) {
            const { x: px, y: py } = pointAt(frame, x, y, across, value);
            if (at === 0) context.moveTo(px, py);
            else context.lineTo(px, py);
          }
          context.stroke();
        }
        for (let item = 0; item < items.length; item += 1) {
          context.fillStyle = colourOf(items[item]?.sweep.sweep_id ?? 0, colours);
          dot(context, pointOf(item, frame), item === active ? 6 : 3);
        }
      }),
    [lines, items, shown, x, y, colours, pointOf, active],
  );
  const nearest = useCallback(
    (from: Point, frame: Frame) => {
      let [found, least]: [number | null, number] = [null, 24];
      for (let item = 0; item < items.length; item += 1) {
        const point = pointOf(item, frame);
        const distance = Math.hypot(point.x - from.x, point.y - from.y);
        if (distance < least) [found, least] = [item, distance];
      }
      return found;
    },
    [items, pointOf],
  );
  const without = histories.filter(each => each.improvements.length === 0);
  return (
    <>
      <h3 className="compare-metric">{title}</h3>
      {shown.length > 0 && (
        <Plot
          x={x}
          y={y}
          name={`best-${metric}-by-${by}`}
          title={`Best ${metric} so far`}
          legend={shown.map(each => legendItem(each, colours))}
          rows={() => tableOf(shown, metric)}
          height={300}
          label={labelOf(metric, shown)}
          draw={draw}
          nearest={nearest}
          order={() => items.map((_, item) => item)}
          pointOf={pointOf}
          active={active}
          onActive={setActive}
          onOpen={item => items[item] && go(trialHref(items[item].sweep.sweep_id, items[item].one.number))}
          describe={item => describe(items[item])}
        />
      )}
      {without.length > 0 && (
        <p className="plot-legend">
          {without.map(each => `${each.name} (${each.sweep_id}): no trial has finished`).join(", ")}
        </p>
      )}
    </>
  );
}

function legendItem(history: History, colours: ReadonlyMap<number, number>): LegendItem {
  const { name, sweep_id, improvements, trials } = history;
  const after = `after ${formatCount(trials)} ${trials === 1 ? "trial" : "trials"}`;
  const label = `${name} (${sweep_id}): ${formatNumber(improvements.at(-1)?.value)} ${after}`;
  return { sign: "line", token: seriesOf(sweep_id, colours), label };
}

function tableOf(histories: readonly History[], metric: string): Rows {
  const head = ["sweep", "sweep id", "trial", "time since the start (s)", metric];
  const rows = histories.flatMap(({ name, sweep_id, improvements }) =>
    improvements.map(one => [name, sweep_id, one.number, one.time_s, one.value]),
  );
  return [head, ...rows];
}

type Item = { one: History["improvements"][number]; sweep: History };

function describe(item: Item | undefined) {
  if (!item) return null;
  const { one, sweep } = item;
  return (
    <>
      <strong>{sweep.name}</strong>
      <br />
      {sweep.metric} {formatNumber(one.value, 5)}, trial {one.number}, after {formatDuration(one.time_s)}
    </>
  );
}

function acrossOf(one: History["improvements"][number], by: By): number {
  return by === "number" ? one.number : one.time_s;
}

/** The corners of the line: a value holds until the next improvement, and the last one until the end. */
export function stepsOf(history: History, by: By): [number, number][] {
  const points: [number, number][] = [];
  for (const one of history.improvements) {
    const before = points.at(-1);
    if (before) points.push([acrossOf(one, by), before[1]]);
    points.push([acrossOf(one, by), one.value]);
  }
  const last = points.at(-1);
  const end = by === "number" ? history.last_number : history.last_s;
  if (last && end > last[0]) points.push([end, last[1]]);
  return points;
}

/** The axis of values is logarithmic where they span decades, as in the history of a sweep. */
export function axesOf(lines: readonly [number, number][][], metric: string, goal: Goal, by: By): { x: Axis; y: Axis } {
  const points = lines.flat();
  const longest = points.reduce((most, [across]) => Math.max(most, across), 0);
  const x =
    by === "number"
      ? numberAxis(by, "trial", [0, longest], { integer: true })
      : numberAxis(by, "time since the start", [0, longest], { unit: "duration" });
  const values = points.map(([, value]) => value);
  const y = numberAxis(metric, metric, values, { log: spansDecades(values) });
  return { x: withRoom(x, 0.02), y: { ...withRoom(y, 0.06), goal } };
}

function pointAt(frame: Frame, x: Axis, y: Axis, across: number, value: number): Point {
  return { x: xAt(frame, placeOn(x, across) ?? Number.NaN), y: yAt(frame, placeOn(y, value) ?? Number.NaN) };
}

function colourOf(sweepId: number, colours: ReadonlyMap<number, number>): string {
  return token(seriesOf(sweepId, colours));
}

function seriesOf(sweepId: number, colours: ReadonlyMap<number, number>): string {
  return SERIES[(colours.get(sweepId) ?? 0) % SERIES.length] ?? "--accent";
}

function dot(context: CanvasRenderingContext2D, { x, y }: Point, radius: number): void {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
}

function labelOf(metric: string, histories: readonly History[]): string {
  const parts = histories.map(each => `${each.name} ${formatNumber(each.improvements.at(-1)?.value)}`);
  return `Best ${metric} of ${histories.length} sweeps: ${parts.join(", ")}.`;
}
