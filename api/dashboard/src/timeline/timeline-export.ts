// The timeline of devices as a file: a picture of the visible range, or a table of its bars and gaps.
import type { Figure, Rows } from "../charts/export-file";
import type { LegendItem } from "../charts/legend";
import { shortened } from "../format";
import { token } from "../theme";
import type { Segment, Why } from "./device-bars-and-gaps";
import { AXIS, drawing, type Lane, within } from "./draw";
import { barToken, paintGap } from "./segment-styles";
import { GAP_KINDS, reasonText } from "./segment-text";
import type { Span } from "./visible-span";

const [WIDTH, NAME, LANE, CHAR] = [1000, 130, 30, 6.6]; // px

export function timelineFigure(
  lanes: readonly Lane[],
  span: Span,
  sweeps: Readonly<Record<string, string>>,
  sweepId: number | null,
  matching: ReadonlySet<number> | null,
): Figure {
  const scene = { lanes, span, lane: LANE, sweepId, matching, lit: null, dragged: null };
  return {
    name: "devices",
    title: "Timeline of devices",
    size: { width: WIDTH, height: lanes.length * LANE + AXIS },
    legend: legendOf(lanes, span),
    draw: (context, { width, height }) => {
      drawNames(context, lanes);
      context.save();
      context.translate(NAME, 0);
      drawing(scene)(context, { width: width - NAME, height });
      context.restore();
    },
    rows: () => tableOf(lanes, span, sweeps),
  };
}

function drawNames(context: CanvasRenderingContext2D, lanes: readonly Lane[]): void {
  context.font = `12px ${token("--font")}`;
  context.fillStyle = token("--text");
  context.textAlign = "left";
  context.textBaseline = "middle";
  for (const [index, { id }] of lanes.entries())
    context.fillText(shortened(id, Math.floor(NAME / CHAR) - 1), 0, (index + 0.5) * LANE);
}

function legendOf(lanes: readonly Lane[], span: Span): LegendItem[] {
  const states = new Set(lanes.flatMap(lane => within(lane.bars, span).map(bar => bar.state)));
  const gaps = new Set(lanes.flatMap(lane => within(lane.gaps, span).map(gap => gap.why)));
  return [
    ...[...states].map(state => ({ sign: "square" as const, token: barToken(state), label: state })),
    ...[...gaps].map(why => gapItem(why)),
  ];
}

function gapItem(why: Why): LegendItem {
  return {
    sign: "paint",
    paint: (context, box) => paintGap(context, why, box),
    label: GAP_KINDS[why].name.toLowerCase(),
  };
}

function tableOf(lanes: readonly Lane[], span: Span, sweeps: Readonly<Record<string, string>>): Rows {
  const head = ["device", "from", "to", "duration (s)", "activity", "attempts", "sweep", "trial", "reason"];
  const rows = lanes.flatMap(({ id, bars, gaps }) =>
    [...within<Segment>(bars, span), ...within<Segment>(gaps, span)]
      .sort((one, other) => one.start - other.start)
      .map(piece => [
        id,
        isoOf(piece.start),
        isoOf(piece.end),
        round(piece.end - piece.start),
        ...detailsOf(piece, sweeps),
      ]),
  );
  return [head, ...rows];
}

function detailsOf(piece: Segment, sweeps: Readonly<Record<string, string>>): (string | number)[] {
  if (piece.kind === "gap") return ["gap", piece.gaps, "", "", reasonText(piece)];
  const trial = piece.attempts === 1 ? String(piece.number) : `${piece.number} to ${piece.lastNumber}`;
  return [piece.state, piece.attempts, piece.sweepId === null ? "" : (sweeps[piece.sweepId] ?? ""), trial, ""];
}

function isoOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString();
}

function round(seconds: number): number {
  return Math.round(seconds * 1000) / 1000;
}
