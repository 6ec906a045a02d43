// One metric of many trials by step. The curve under the pointer is described and highlighted here and in other views.
import { useCallback, useMemo, useRef } from "react";
import { formatCount, formatNumber } from "../format";
import { SERIES, token } from "../theme";
import { type Axis, type Goal, numberAt, numberAxis, placeOn, robustAxis, withRoom } from "./axis";
import { HOVER_TOKEN, shadeOf, shades } from "./colour";
import { bestValue, type Curve, endShares, nearestIndex, smoothed } from "./curve-values";
import type { Rows } from "./export-file";
import type { LegendItem } from "./legend";
import { Plot } from "./plot";
import { clipped, type Frame, type Point, xAt, yAt } from "./plot-area-and-grid";

export type CurvesProps = {
  curves: readonly Curve[];
  metric: string;
  goal?: Goal; // of the metric, if the sweep defines one
  log?: boolean;
  smooth?: number; // 0 to 1
  colours?: "result" | "series"; // by rank of the last value, or one colour per curve with a legend
  highlighted: number | null; // a trial id
  selected?: ReadonlySet<number>;
  height?: number;
  onHover: (trialId: number | null) => void;
  onOpen?: (trialId: number) => void;
};

const ROOM = 0.02; // at both ends of the steps: the first and the last point do not touch the frame
const NEAR = 28; // px
const FAINT = 0.35;
const NO_SELECTION: ReadonlySet<number> = new Set();

export function Curves(props: CurvesProps) {
  const { curves, metric, goal, log = false, smooth = 0, colours = "result", highlighted, onHover, onOpen } = props;
  const { selected = NO_SELECTION, height = 380 } = props;
  const lines = useMemo(() => curves.map(curve => smoothed(curve.values, smooth)), [curves, smooth]);
  const { x, y } = useMemo(() => axesFor(lines, curves, metric, goal, log), [lines, curves, metric, goal, log]);
  const cursor = useRef<number | null>(null); // the step under the pointer
  const index = useMemo(() => new Map(curves.map((curve, at) => [curve.trial_id, at])), [curves]);
  const active = highlighted === null ? null : (index.get(highlighted) ?? null);

  const pointAt = useCallback(
    (item: number, step: number | null, frame: Frame): Point => {
      const steps = curves[item]?.steps ?? [];
      const at = step === null ? steps.length - 1 : nearestIndex(steps, step);
      const place = [placeOn(x, steps[at]), placeOn(y, lines[item]?.[at])];
      return { x: xAt(frame, place[0] ?? Number.NaN), y: yAt(frame, edge(place[1] ?? Number.NaN)) };
    },
    [curves, lines, x, y],
  );
  const trace = useCallback(
    (context: CanvasRenderingContext2D, frame: Frame, item: number) => {
      const steps = curves[item]?.steps ?? [];
      const values = lines[item] ?? [];
      context.beginPath();
      let isDown = false;
      for (let at = 0; at < steps.length; at += 1) {
        const place = placeOn(y, values[at]);
        const [px, py] = [xAt(frame, placeOn(x, steps[at]) ?? 0), yAt(frame, place ?? 0)];
        if (place === null) isDown = false;
        else if (isDown) context.lineTo(px, py);
        else context.moveTo(px, py);
        isDown = place !== null;
      }
      context.stroke();
      if (steps.length === 1) dot(context, pointAt(item, null, frame), 3);
    },
    [curves, lines, x, y, pointAt],
  );
  const draw = useCallback(
    (context: CanvasRenderingContext2D, frame: Frame) =>
      clipped(context, frame, () => {
        const colourOf = colouring(curves, goal, colours);
        const strong = colours === "series" || curves.length <= 12;
        for (let item = curves.length - 1; item >= 0; item -= 1) {
          const { state, trial_id } = curves[item] as Curve;
          context.strokeStyle = context.fillStyle = colourOf(item);
          const isChosen = selected.has(trial_id);
          context.globalAlpha = strong || isChosen || state === "running" ? 1 : state === "finished" ? 0.75 : FAINT;
          context.lineWidth = isChosen ? 3 : strong ? 2 : 1.25;
          context.setLineDash(state === "finished" || state === "running" ? [] : [5, 4]);
          trace(context, frame, item);
          context.setLineDash([]);
          if (state === "running") dot(context, pointAt(item, null, frame), 3.5);
        }
        context.globalAlpha = 1;
      }),
    [curves, goal, colours, selected, trace, pointAt],
  );
  const drawOver = useCallback(
    (context: CanvasRenderingContext2D, frame: Frame) => {
      if (active === null) return;
      clipped(context, frame, () => {
        context.strokeStyle = token("--surface");
        context.lineWidth = 7;
        trace(context, frame, active);
        context.strokeStyle = context.fillStyle = token(HOVER_TOKEN);
        context.lineWidth = 3;
        trace(context, frame, active);
        dot(context, pointAt(active, cursor.current, frame), 4.5);
      });
    },
    [active, trace, pointAt],
  );
  const nearest = useCallback(
    (from: Point, frame: Frame) => {
      const step = numberAt(x, (from.x - frame.left) / frame.width);
      cursor.current = step;
      let [found, least]: [number | null, number] = [null, NEAR];
      for (let item = 0; item < curves.length; item += 1) {
        const point = pointAt(item, step, frame);
        const distance = Math.hypot((point.x - from.x) / 2, point.y - from.y);
        if (distance < least) [found, least] = [item, distance];
      }
      return found;
    },
    [curves, pointAt, x],
  );
  const order = () => curves.map((_, item) => item);
  const idOf = (item: number | null) => (item === null ? null : (curves[item]?.trial_id ?? null));
  return (
    <Plot
      x={x}
      y={y}
      name={`curves-${metric}`}
      title={`${metric} by step`}
      legend={legendOf(curves, colours, goal)}
      rows={() => tableOf(curves, lines, metric, smooth)}
      height={height}
      label={labelOf(curves, metric, goal)}
      draw={draw}
      drawOver={drawOver}
      nearest={nearest}
      order={order}
      pointOf={(item, frame) => pointAt(item, cursor.current, frame)}
      describe={item => <CurveTip curve={curves[item] as Curve} step={cursor.current} metric={metric} goal={goal} />}
      active={active}
      onActive={item => onHover(idOf(item))}
      onOpen={item => onOpen?.((curves[item] as Curve).trial_id)}
    />
  );
}

function axesFor(
  lines: readonly (readonly number[])[],
  curves: readonly Curve[],
  metric: string,
  goal: Goal | undefined,
  log: boolean,
): { x: Axis; y: Axis } {
  const values = lines.flat();
  const isLog = log && values.every(value => value > 0);
  const ends = curves.flatMap(curve => [curve.steps[0] ?? 0, curve.steps.at(-1) ?? 0]);
  const y = numberAxis(metric, metric, values, { log: isLog, goal });
  return { x: withRoom(numberAxis("step", "step", ends, { integer: true }), ROOM), y: withRoom(robustAxis(y, values)) };
}

function colouring(curves: readonly Curve[], goal: Goal | undefined, colours: "result" | "series") {
  if (colours === "series") return (item: number) => token(seriesOf(item));
  const [shares, ramp] = [endShares(curves, goal), shades()];
  return (item: number) => {
    const isOver = curves[item]?.state === "finished" || curves[item]?.state === "running";
    return isOver ? (ramp[shadeOf(0.25 + 0.75 * (shares[item] as number))] as string) : token("--text-3");
  };
}

function CurveTip({ curve, step, metric, goal }: { curve: Curve; step: number | null; metric: string; goal?: Goal }) {
  const at = step === null ? curve.steps.length - 1 : nearestIndex(curve.steps, step);
  const best = bestValue(curve.values, goal);
  return (
    <>
      <b>
        Trial {curve.number} · {curve.state}
      </b>
      <dl>
        <dt>step</dt>
        <dd>{formatCount(curve.steps[at])}</dd>
        <dt>{metric}</dt>
        <dd>{formatNumber(curve.values[at])}</dd>
        {best !== null && (
          <>
            <dt>best</dt>
            <dd>{formatNumber(best)}</dd>
          </>
        )}
      </dl>
    </>
  );
}

function legendOf(curves: readonly Curve[], colours: "result" | "series", goal?: Goal): LegendItem[] {
  if (colours === "series")
    return curves.map(({ number }, item) => ({ sign: "line", token: seriesOf(item), label: `trial ${number}` }));
  const items: LegendItem[] = goal ? [{ sign: "ramp", label: "last value, worst to best" }] : [];
  if (curves.some(({ state }) => state === "running"))
    items.push({ sign: "note", label: "● at the end: still running" });
  if (curves.some(({ state }) => state !== "running" && state !== "finished"))
    items.push({ sign: "dashed", token: "--text-3", label: "pruned, failed or cancelled" });
  return items;
}

function seriesOf(item: number): string {
  return SERIES[item % SERIES.length] as string;
}

function tableOf(
  curves: readonly Curve[],
  lines: readonly (readonly number[])[],
  metric: string,
  smooth: number,
): Rows {
  const head = ["trial", "state", "step", metric, ...(smooth > 0 ? ["smoothed"] : [])];
  const rows = curves.flatMap(({ number, state, steps, values }, item) =>
    steps.map((step, at) => [number, state, step, values[at], ...(smooth > 0 ? [lines[item]?.[at]] : [])]),
  );
  return [head, ...rows];
}

function labelOf(curves: readonly Curve[], metric: string, goal: Goal | undefined): string {
  const ends = curves.map(curve => bestValue(curve.values, goal)).filter(value => value !== null);
  const best = bestValue(ends, goal);
  return `Curves of ${metric}, ${formatCount(curves.length)} trials.${best === null ? "" : ` Best value ${formatNumber(best)}.`}`;
}

function dot(context: CanvasRenderingContext2D, { x, y }: Point, radius: number): void {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
}

function edge(place: number): number {
  return Math.max(0, Math.min(1, place));
}
