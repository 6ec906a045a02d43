// The traffic of an ensemble over 15 minutes or 24 hours: requests, the slowest percent, and late replies.
import { useQuery } from "@tanstack/react-query";
import { useId } from "react";
import { api, done, type Schemas } from "../api";
import type { Size } from "../auto-redraw-canvas";
import { numberAxis, placeOn, withRoom } from "../charts/axis";
import { ExportMenu } from "../charts/export";
import type { Figure } from "../charts/export-file";
import { drawFrame, frameIn, xAt, yAt } from "../charts/plot-area-and-grid";
import type { Unit } from "../charts/ticks";
import { formatCount, formatMs, formatShare, formatTime } from "../format";
import { keys } from "../query-keys";
import { token } from "../theme";
import { useQueryState } from "../url-query-state";
import { Button } from "../widgets/button";
import { Panel } from "../widgets/panel";
import { QueryResult } from "../widgets/query-states";
import "./request-statistics.css";

type Traffic = Schemas["TrafficView"];
type Point = Traffic["points"][number];

const REFRESH_MS = 10_000;
const DAY_MIN = 1_440;
const RECENT_MIN = 15;

export function TrafficPanel({ ensembleId }: { ensembleId: number }) {
  const [period, setPeriod] = useQueryState("traffic");
  const minutes = period === "24h" ? DAY_MIN : RECENT_MIN;
  const query = useQuery({
    queryKey: keys.ensemble(ensembleId, "traffic", minutes),
    queryFn: ({ signal }) => {
      const params = { path: { ensemble_id: ensembleId }, query: { minutes } };
      return done(api.GET("/api/v1/ensembles/{ensemble_id}/traffic", { params, signal }));
    },
    refetchInterval: REFRESH_MS,
    placeholderData: undefined,
  });
  const actions = (
    <>
      <Button small aria-pressed={minutes === RECENT_MIN} onClick={() => setPeriod("")}>
        15 minutes
      </Button>
      <Button small aria-pressed={minutes === DAY_MIN} onClick={() => setPeriod("24h")}>
        24 hours
      </Button>
    </>
  );
  return (
    <Panel title="Traffic" actions={actions}>
      <QueryResult query={query} rows={3}>
        {traffic => (
          <>
            <Sparklines traffic={traffic} />
            <div className="plot-foot plot-foot-end">
              <ExportMenu name="traffic" figure={() => figureOf(traffic)} />
            </div>
          </>
        )}
      </QueryResult>
    </Panel>
  );
}

function Sparklines({ traffic }: { traffic: Traffic }) {
  const { points, interval_s } = traffic;
  const requests = points.reduce((sum, point) => sum + point.requests, 0);
  const failed = points.reduce((sum, point) => sum + point.failed, 0);
  const degraded = points.reduce((sum, point) => sum + point.degraded, 0);
  const per = interval_s === 60 ? "a minute" : `in ${interval_s / 60} minutes`;
  const hint = `${formatCount(degraded)} degraded, ${formatCount(failed)} failed`;
  return (
    <div className="traffic">
      <Sparkline
        name="Requests"
        unit={per}
        points={points}
        measure={each => each.requests}
        format={formatCount}
        total={`${formatCount(requests)} in all, ${hint}`}
      />
      <Sparkline
        name="p99 latency"
        unit="slowest percent"
        points={points}
        measure={each => each.p99_ms}
        format={formatMs}
      />
      <Sparkline
        name="Late replies"
        unit="of members"
        points={points}
        measure={each => each.late_share}
        format={value => formatShare(value)}
      />
    </div>
  );
}

const MEASURES: readonly [string, Unit | undefined, (point: Point) => number | null][] = [
  ["requests", undefined, each => each.requests],
  ["p99 latency", "duration", each => (each.p99_ms === null ? null : each.p99_ms / 1000)],
  ["late replies (%)", undefined, each => (each.late_share === null ? null : 100 * each.late_share)],
];
const PART = 180; // px; height of a measure in a picture

function figureOf({ points, interval_s }: Traffic): Figure {
  const head = [
    "time",
    `requests in ${interval_s} s`,
    "failed",
    "degraded",
    "p99 latency (ms)",
    "late share of members",
  ];
  return {
    ...{ name: "traffic", title: "Traffic", size: { width: 900, height: PART * MEASURES.length } },
    draw: (context, size) => {
      for (const [place, [name, unit, measure]] of MEASURES.entries()) {
        context.save();
        context.translate(0, place * PART);
        drawMeasure(context, { width: size.width, height: PART - 10 }, points, name, unit, measure);
        context.restore();
      }
    },
    rows: () => [
      head,
      ...points.map(each => [
        ...[new Date(secondsOf(each) * 1000).toISOString(), each.requests, each.failed, each.degraded],
        ...[each.p99_ms, each.late_share],
      ]),
    ],
  };
}

function drawMeasure(
  context: CanvasRenderingContext2D,
  size: Size,
  points: readonly Point[],
  name: string,
  unit: Unit | undefined,
  measure: (point: Point) => number | null,
): void {
  const values = points.map(measure);
  const highest = Math.max(...values.filter(value => value !== null), 0);
  const y = withRoom(numberAxis("y", name, [0, highest || 1], { unit }), 0.04);
  const x = withRoom(numberAxis("x", "", points.map(secondsOf), { unit: "clock" }), 0.02);
  const frame = frameIn(size, y);
  drawFrame(context, frame, x, y);
  context.strokeStyle = context.fillStyle = token("--series-1");
  context.lineWidth = 1.75;
  context.beginPath();
  values.forEach((value, index) => {
    if (value === null) return;
    const px = xAt(frame, placeOn(x, secondsOf(points[index] as Point)) ?? 0);
    const py = yAt(frame, placeOn(y, value) ?? 0);
    context.fillRect(px - 1.5, py - 1.5, 3, 3); // visible also alone
    if ((values[index - 1] ?? null) === null) context.moveTo(px, py);
    else context.lineTo(px, py);
  });
  context.stroke();
}

function secondsOf({ at }: Point): number {
  return typeof at === "number" ? at : Date.parse(at) / 1000;
}

type SparklineProps = {
  name: string;
  unit: string;
  points: readonly Point[];
  measure: (point: Point) => number | null;
  format: (value: number | null) => string;
  total?: string;
};

const [WIDTH, HEIGHT, SIDE] = [300, 56, 2]; // the first and the last value do not touch the border

function Sparkline({ name, unit, points, measure, format, total }: SparklineProps) {
  const id = useId();
  const values = points.map(measure);
  const known = values.filter(value => value !== null);
  const highest = known.length === 0 ? null : Math.max(...known);
  const at = points.findIndex((_, index) => values[index] === highest);
  const last = known.at(-1) ?? null;
  const text =
    highest === null
      ? "no requests"
      : `highest ${format(highest)} at ${formatTime(points[at]?.at)}, last ${format(last)}`;
  return (
    <figure className="traffic-line">
      <figcaption id={id}>
        <strong>{name}</strong> <span className="traffic-unit">{unit}</span>
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={`${name}: ${text}`}>
        <path d={`M0 ${HEIGHT - 0.5}H${WIDTH}`} className="traffic-ground" />
        {pathsOf(values, highest ?? 0).map(path => (
          <path key={path} d={path} className="traffic-path" />
        ))}
      </svg>
      <p>{text}</p>
      {total && <p>{total}</p>}
    </figure>
  );
}

/** The line, interrupted where there is no value; a lone value is a short bar. */
export function pathsOf(values: readonly (number | null)[], highest: number): string[] {
  const step = (WIDTH - 2 * SIDE) / Math.max(1, values.length - 1);
  const paths: string[] = [];
  let current: string[] = [];
  const end = (index: number) => {
    if (current.length === 1) current.push(`h${index === values.length ? -2 : 2}`);
    if (current.length > 0) paths.push(current.join(""));
    current = [];
  };
  values.forEach((value, index) => {
    if (value === null) {
      end(index);
      return;
    }
    const y = HEIGHT - 2 - (highest > 0 ? value / highest : 0) * (HEIGHT - 4);
    current.push(
      `${current.length === 0 ? "M" : "L"}${Number((SIDE + index * step).toFixed(1))} ${Number(y.toFixed(1))}`,
    );
  });
  end(values.length);
  return paths;
}
