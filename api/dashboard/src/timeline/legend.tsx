// The legend of colours and patterns, limited to those in view.
import { useCallback } from "react";
import { type Draw, useCanvas } from "../auto-redraw-canvas";
import { stateStyle } from "../widgets/state-badge";
import type { Bar, Why } from "./device-bars-and-gaps";
import { isMuted, type Lane, within } from "./draw";
import { paintBar, paintGap } from "./segment-styles";
import { GAP_KINDS } from "./segment-text";
import type { Span } from "./visible-span";

const SWATCH = { width: 22, height: 14 };
const ORDER = ["finished", "pruned", "failed", "cancelled", "running"];

type Props = {
  lanes: readonly Lane[];
  span: Span;
  sweepId: number | null;
  matching: ReadonlySet<number> | null;
};

export function Legend({ lanes, span, sweepId, matching }: Props) {
  const bars = lanes.flatMap(lane => within(lane.bars, span));
  const ownBars = bars.filter(bar => !isMuted(bar, { sweepId, matching }));
  const states = ORDER.filter(state => ownBars.some(bar => bar.state === state));
  const gaps = lanes.flatMap(lane => within(lane.gaps, span));
  const gapKinds = (Object.keys(GAP_KINDS) as Why[]).filter(why => gaps.some(gap => gap.why === why));
  return (
    <ul className="timeline-legend" aria-label="Legend">
      {states.map(state => (
        <li key={state}>
          <BarSwatch state={state} muted={false} />
          <span aria-hidden="true">{stateStyle(state).icon}</span> {state}
        </li>
      ))}
      {ownBars.length < bars.length && (
        <li>
          <BarSwatch state="finished" muted={true} /> {mutedName(sweepId, matching)}
        </li>
      )}
      {ownBars.some(bar => bar.attempts > 1) && <li className="timeline-note">pale: many short trials with pauses</li>}
      {gaps.some(gap => gap.gaps > 1) && (
        <li className="timeline-note">short gaps are merged and labelled by their main reason</li>
      )}
      {gapKinds.map(why => (
        <li key={why}>
          <GapSwatch why={why} /> {GAP_KINDS[why].name.toLowerCase()}
        </li>
      ))}
    </ul>
  );
}

function mutedName(sweepId: number | null, matching: ReadonlySet<number> | null): string {
  if (matching === null) return "other sweeps";
  return sweepId === null ? "not matching the filter" : "other sweeps, and trials that do not match the filter";
}

function BarSwatch({ state, muted }: { state: string; muted: boolean }) {
  const draw = useCallback(
    (context: CanvasRenderingContext2D) => {
      const bar: Bar = {
        kind: "bar",
        start: 0,
        end: 1,
        isRunning: state === "running",
        attempts: 1,
        failed: 0,
        busy: 1,
        state,
        sweepId: null,
        trialId: null,
        number: 0,
        lastNumber: 0,
      };
      paintBar(context, bar, { x: 0, y: 1, width: SWATCH.width, height: SWATCH.height - 2 }, muted);
    },
    [state, muted],
  );
  return <Swatch draw={draw} className="timeline-swatch" />;
}

function GapSwatch({ why }: { why: Why }) {
  const draw = useCallback(
    (context: CanvasRenderingContext2D) => paintGap(context, why, { x: 0, y: 0, ...SWATCH }),
    [why],
  );
  return <Swatch draw={draw} className="timeline-swatch timeline-swatch-gap" />;
}

function Swatch({ draw, className }: { draw: Draw; className: string }) {
  return (
    <span aria-hidden="true" className={className}>
      <canvas ref={useCanvas(draw, SWATCH)} />
    </span>
  );
}
