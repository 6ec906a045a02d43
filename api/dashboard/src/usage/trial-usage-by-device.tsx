// What the trials on each device use in the time range of the timeline: one row per device, below its trials.
import { useCallback, useMemo, useRef, useState } from "react";
import { type Draw, useCanvas, useSize } from "../auto-redraw-canvas";
import { ExportMenu } from "../charts/export";
import type { Figure } from "../charts/export-file";
import { shortened } from "../format";
import { SERIES, token } from "../theme";
import type { Span } from "../timeline/visible-span";
import { CutName } from "../widgets/cut-name";
import { QueryResult } from "../widgets/query-states";
import { Select } from "../widgets/select";
import { formatMeasure } from "./measures";
import { type DeviceUsage as Usage, useDeviceUsage } from "./queries";
import "./usage.css";

type Key = "memory_mb" | "cpu_cores" | "gpu_percent" | "gpu_memory_mb";
const SHOWN: readonly { value: Key; name: string; unit: string }[] = [
  { value: "memory_mb", name: "Memory", unit: "MB" },
  { value: "cpu_cores", name: "Processor", unit: "cores" },
  { value: "gpu_percent", name: "GPU utilization", unit: "%" },
  { value: "gpu_memory_mb", name: "GPU memory", unit: "MB" },
];
const LANE = 44;
const [WIDTH, NAME] = [1000, 230]; // px, of a picture and of its names
const GAP_S = 3; // between samples, which follow each other
const GAP_SHARE = 3 / 300; // of the range: without a sample for longer, no trial was measured

type Props = { devices: readonly string[]; span: Span; live: boolean };

export function DeviceUsage({ devices, span, live }: Props) {
  const usage = useDeviceUsage(span.from, span.to, live);
  const [key, setKey] = useState<Key>("memory_mb");
  const found = usage.data ?? [];
  const measured = SHOWN.filter(each => found.some(device => device[each.value].some(value => value !== null)));
  const shown = measured.find(each => each.value === key) ?? measured[0] ?? SHOWN[0];
  return (
    <section className="device-usage" aria-label="Resources">
      <div className="device-usage-head">
        <h3>Resources</h3>
        {measured.length > 1 && (
          <Select
            label="Show"
            value={shown?.value ?? key}
            options={measured}
            onChange={value => setKey(value as Key)}
          />
        )}
      </div>
      <QueryResult query={usage} rows={2}>
        {() =>
          measured.length === 0 || shown === undefined ? (
            <p className="device-usage-none">No trial was measured in this time range.</p>
          ) : (
            <Lanes devices={devices} found={found} span={span} shown={shown} />
          )
        }
      </QueryResult>
    </section>
  );
}

type LanesProps = {
  devices: readonly string[];
  found: readonly Usage[];
  span: Span;
  shown: (typeof SHOWN)[number];
};

function Lanes({ devices, found, span, shown }: LanesProps) {
  const frame = useRef<HTMLDivElement>(null);
  const { width } = useSize(frame);
  const size = useMemo(() => ({ width, height: devices.length * LANE }), [width, devices.length]);
  const lanes = useMemo(() => devices.map(id => found.find(device => device.id === id)), [devices, found]);
  const peaks = lanes.map(lane => highest(lane, shown.value));
  const top = shown.unit === "%" ? 100 : Math.max(...peaks.map(peak => peak ?? 0)) || 1;
  const draw = useCallback<Draw>(
    context => {
      for (const [index, lane] of lanes.entries())
        if (lane) drawLane(context, { lane, index, width, span, top, key: shown.value });
    },
    [lanes, width, span, top, shown],
  );
  const canvas = useCanvas(draw, size);
  const figure = (): Figure => ({
    ...{ name: `device-${shown.value}`, title: `${shown.name} of devices`, size: { ...size, width: WIDTH } },
    draw: (context, drawn) => drawFigure(context, { lanes, devices, width: drawn.width, span, top, shown, peaks }),
    rows: () => [
      ["device", "time", `${shown.name} (${shown.unit})`],
      ...lanes.flatMap(lane =>
        (lane?.at ?? []).map((at, row) => [lane?.id, new Date(at * 1000).toISOString(), lane?.[shown.value][row]]),
      ),
    ],
  });
  const parts = devices.map((id, index) => `${id} at most ${formatMeasure(peaks[index], shown.unit)}`);
  return (
    <>
      <div className="timeline-chart">
        <ul className="timeline-names">
          {devices.map((id, index) => (
            <li key={id} style={{ height: LANE }}>
              <span className="timeline-name">
                <CutName name={id} />
              </span>
              <span className="timeline-share" title="The highest value in this time range">
                {formatMeasure(peaks[index], shown.unit)}
              </span>
            </li>
          ))}
        </ul>
        <div ref={frame} className="timeline-frame" style={{ height: size.height }}>
          <canvas ref={canvas} role="img" className="usage-canvas" aria-label={`${shown.name}: ${parts.join("; ")}`} />
        </div>
      </div>
      <div className="plot-foot plot-foot-end">
        <ExportMenu name={`${shown.name} of devices`} figure={figure} />
      </div>
    </>
  );
}

type Picture = Pick<LanesProps, "devices" | "span" | "shown"> & {
  lanes: readonly (Usage | undefined)[];
  width: number;
  top: number;
  peaks: readonly (number | null)[];
};

function drawFigure(
  context: CanvasRenderingContext2D,
  { lanes, devices, width, span, top, shown, peaks }: Picture,
): void {
  for (const [index, lane] of lanes.entries()) {
    context.font = `12px ${token("--font")}`;
    context.textBaseline = "middle";
    context.textAlign = "left";
    context.fillStyle = token("--text");
    const peak = formatMeasure(peaks[index], shown.unit);
    context.fillText(`${shortened(devices[index] ?? "", 16)}, at most ${peak}`, 0, (index + 0.6) * LANE);
    context.save();
    context.translate(NAME, 0);
    if (lane) drawLane(context, { lane, index, width: width - NAME, span, top, key: shown.value });
    context.restore();
  }
}

function highest(lane: Usage | undefined, key: Key): number | null {
  const values = (lane?.[key] ?? []).filter(value => value !== null);
  return values.length === 0 ? null : Math.max(...values);
}

type Lane = { lane: Usage; index: number; width: number; span: Span; top: number; key: Key };

/** The line of one device; it is interrupted where no trial was measured. */
export function drawLane(context: CanvasRenderingContext2D, { lane, index, width, span, top, key }: Lane): void {
  const ground = (index + 1) * LANE - 4;
  const xOf = (at: number) => ((at - span.from) / (span.to - span.from)) * width;
  const yOf = (value: number) => ground - (value / top) * (LANE - 10);
  context.strokeStyle = token("--line");
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(0, ground + 0.5);
  context.lineTo(width, ground + 0.5);
  context.stroke();
  context.strokeStyle = token(SERIES[0] ?? "--accent");
  context.lineWidth = 1.5;
  const gap = Math.max(GAP_S, GAP_SHARE * (span.to - span.from));
  let before = Number.NEGATIVE_INFINITY;
  context.beginPath();
  lane.at.forEach((at, row) => {
    const value = lane[key][row];
    if (value === null || value === undefined) return;
    const [x, y] = [xOf(at), yOf(value)];
    const since = lane.since[row] ?? at; // old samples are merged: they last for minutes
    if (since - before > gap) context.moveTo(Math.min(xOf(since), x - 1), y); // visible also alone
    context.lineTo(x, y);
    before = at;
  });
  context.stroke();
}
