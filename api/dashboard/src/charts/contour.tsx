// Contour plot of two parameters: the expected results as a coloured surface, with the trials on top.
import { memo, useCallback, useMemo } from "react";
import { formatCount } from "../format";
import { token } from "../theme";
import { type Axis, columnNameOf, titleOf, valueAt, withRoom } from "./axis";
import { HOVER_TOKEN, SHADES, shades } from "./colour";
import { COLUMNS, MIN_TRIALS, ROWS, surface } from "./contour-grid";
import { drawPoints, placesOf, pointIn } from "./draw-points";
import type { Rows } from "./export-file";
import type { LegendItem } from "./legend";
import { Plot } from "./plot";
import { clipped, type Frame, type Point, xAt, yAt } from "./plot-area-and-grid";
import { rampText } from "./ramp-meaning";
import { closest } from "./scatter";
import { columnOf, type Points } from "./trial-columns";
import { RANK, trialRows } from "./trial-export-rows";
import { TrialTip } from "./trial-tooltip";
import { countUnfinished, isUnfinished, type UnfinishedCounts, unfinishedItems } from "./unfinished";

type ContourProps = {
  points: Points;
  x: Axis;
  y: Axis;
  metric: Axis;
  shares: Float64Array;
  inside: Uint8Array;
  active: number | null;
  onActive: (row: number | null) => void;
  onOpen?: (row: number) => void;
};

const BANDS = 10;
const NEAR = 18;

export const Contour = memo(function Contour({
  points,
  x: xAxis,
  y: yAxis,
  metric,
  shares,
  inside,
  active,
  onActive,
  onOpen,
}: ContourProps) {
  const [x, y] = useMemo(() => [withRoom(xAxis), withRoom(yAxis)], [xAxis, yAxis]);
  const places = useMemo(() => {
    const [xs, ys] = [placesOf(x, columnOf(points, x.key)), placesOf(y, columnOf(points, y.key))];
    const [states, values] = [columnOf(points, "state"), columnOf(points, metric.key)];
    const rows: number[] = [];
    const others: number[] = []; // without a result
    for (let row = 0; row < states.length; row += 1) {
      if (!inside[row] || !isNumber(xs, row) || !isNumber(ys, row)) continue;
      if (states[row] === "finished" && isNumber(shares, row)) rows.push(row);
      else if (isUnfinished(states[row]) && typeof values[row] === "number") others.push(row);
    }
    return { xs, ys, rows, others };
  }, [points, metric.key, x, y, inside, shares]);
  const { rows } = places;
  const drawn = useMemo(() => ({ ...places, rows: [...places.rows, ...places.others] }), [places]);
  const counts = useMemo(() => countUnfinished(points, metric.key, inside), [points, metric.key, inside]);
  const hasSurface = rows.length >= MIN_TRIALS;
  const cells = useMemo(() => (hasSurface ? surface(places, shares) : null), [places, shares, hasSurface]);

  const pointOf = useCallback((row: number, frame: Frame): Point => pointIn(places, row, frame), [places]);
  const draw = useCallback(
    (context: CanvasRenderingContext2D, frame: Frame) =>
      clipped(
        context,
        frame,
        () => {
          if (cells) drawSurface(context, frame, cells, shades());
          drawPoints(context, frame, drawn, shares, columnOf(points, "feasible"), columnOf(points, "state"));
        },
        0,
      ),
    [cells, drawn, shares, points],
  );
  const drawOver = useCallback(
    (context: CanvasRenderingContext2D, frame: Frame) => {
      if (active === null || !inside[active]) return;
      const { x: px, y: py } = pointOf(active, frame);
      context.strokeStyle = token(HOVER_TOKEN);
      context.lineWidth = 2;
      context.beginPath();
      context.arc(px, py, 7, 0, 2 * Math.PI);
      context.stroke();
    },
    [active, inside, pointOf],
  );
  const nearest = useCallback(
    (from: Point, frame: Frame) => closest(drawn.rows, from, row => pointOf(row, frame), NEAR),
    [drawn, pointOf],
  );
  const label = `${metric.name} over ${x.name} and ${y.name}, ${formatCount(rows.length)} finished trials${hasSurface ? "" : "; too few for a surface"}.`;
  return (
    <Plot
      x={x}
      y={y}
      name="contour"
      title={`${titleOf(metric)} over ${titleOf(x)} and ${titleOf(y)}`}
      height={340}
      label={label}
      legend={legendOf(metric, counts, rows.length)}
      rows={() => tableOf(points, drawn.rows, [x, y, metric], shares, cells)}
      draw={draw}
      drawOver={drawOver}
      nearest={nearest}
      order={() => drawn.rows}
      pointOf={pointOf}
      describe={row => <TrialTip points={points} row={row} axes={[metric, x, y]} />}
      active={active !== null && inside[active] ? active : null}
      onActive={onActive}
      onOpen={onOpen}
    />
  );
});

function legendOf(metric: Axis, counts: UnfinishedCounts, count: number): LegendItem[] {
  const ramp = `${titleOf(metric)}, ${rampText(metric)}`;
  if (count >= MIN_TRIALS) {
    const label = `${ramp}; the surface shows expected values, blank where no trial is near`;
    return [{ sign: "ramp", label }, ...unfinishedItems(counts)];
  }
  return [{ sign: "ramp", label: ramp }, ...unfinishedItems(counts), { sign: "note", label: surfaceHint(count) }];
}

/** The trials, then the surface by the middles of its cells. */
async function tableOf(
  points: Points,
  rows: readonly number[],
  [x, y, metric]: readonly [Axis, Axis, Axis],
  shares: Float64Array,
  cells: Float64Array | null,
): Promise<Rows> {
  const columns = Object.fromEntries(
    [x, y, metric].map(axis => [columnNameOf(axis), (row: number, exact: Points) => columnOf(exact, axis.key)[row]]),
  );
  const trials = await trialRows(points, rows, { ...columns, [RANK]: (row: number) => shares[row] });
  const surface = [...(cells ?? [])].flatMap((share, cell) => {
    if (Number.isNaN(share)) return [];
    const [across, up] = [((cell % COLUMNS) + 0.5) / COLUMNS, (Math.floor(cell / COLUMNS) + 0.5) / ROWS];
    return [["surface", "", "", valueAt(x, across), valueAt(y, up), "", share]];
  });
  return [...trials, ...surface];
}

/** Why there is no surface. */
export function surfaceHint(count: number): string {
  return `Surface needs ${MIN_TRIALS} finished trials (${formatCount(count)} so far)`;
}

function isNumber(values: Float64Array, row: number): boolean {
  return !Number.isNaN(values[row]);
}

function drawSurface(context: CanvasRenderingContext2D, frame: Frame, cells: Float64Array, colours: string[]): void {
  const xs = Array.from({ length: COLUMNS + 1 }, (_, at) => Math.round(xAt(frame, at / COLUMNS)));
  const ys = Array.from({ length: ROWS + 1 }, (_, at) => Math.round(yAt(frame, at / ROWS)));
  context.globalAlpha = 0.5;
  for (let cell = 0; cell < cells.length; cell += 1) {
    const share = cells[cell] as number;
    if (Number.isNaN(share)) continue;
    const band = Math.min(BANDS - 1, Math.floor(share * BANDS));
    context.fillStyle = colours[Math.round((band / (BANDS - 1)) * (SHADES - 1))] as string;
    const [column, row] = [cell % COLUMNS, Math.floor(cell / COLUMNS)];
    const [left, right] = [xs[column] as number, xs[column + 1] as number];
    const [bottom, top] = [ys[row] as number, ys[row + 1] as number];
    context.fillRect(left, top, right - left, bottom - top);
  }
  context.globalAlpha = 1;
}
