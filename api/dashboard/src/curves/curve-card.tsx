// One metric of the grid: requested and drawn only while it is in view.
import { useEffect, useMemo, useRef, useState } from "react";
import { columnNameOf } from "../charts/axis";
import { ExportMenu } from "../charts/export";
import type { Figure } from "../charts/export-file";
import type { LegendItem } from "../charts/legend";
import { frameIn } from "../charts/plot-area-and-grid";
import { Button } from "../widgets/button";
import { CutName } from "../widgets/cut-name";
import type { GridParams, Loaded } from "./batch-panel-requests";
import { isShown, type Layer, layerOf, legendOf } from "./chart-scene";
import { CurvePlot } from "./curve-plot";
import { cssOf, drawLayer } from "./draw-layer";
import type { MetricName } from "./prefix-groups";
import { usePanel } from "./queries";
import { nameOfX, type Settings, setRange } from "./settings";

export const CARD_HEIGHT = 230;
export const WIDE_HEIGHT = 460;
const MOST_NAMED = 60; // lines in the legend of a picture
const AHEAD = "250px"; // a chart that is almost in view is requested

type CurveCardProps = {
  sweepId: number;
  metric: MetricName;
  params: GridParams;
  settings: Settings;
  hovered: number | null;
  onHover: (trialId: number | null) => void;
  onOpen?: (number: number) => void; // of the trial
  isWide: boolean;
  onWide: () => void;
};

export function CurveCard(props: CurveCardProps) {
  const { sweepId, metric, params, settings, hovered, onHover, onOpen, isWide, onWide } = props;
  const box = useRef<HTMLElement>(null);
  const isVisible = useVisible(box);
  const query = usePanel(sweepId, params, metric.name, isVisible);
  const layer = useMemo(() => query.data && layerOf(query.data, settings), [query.data, settings]);
  const height = isWide ? WIDE_HEIGHT : CARD_HEIGHT;
  const title = metric.name;
  return (
    <figure ref={box} className={isWide ? "curve-card curve-card-wide" : "curve-card"} aria-label={title}>
      <figcaption>
        <span className="curve-card-name mono">
          <CutName name={title} />
        </span>
        {metric.goal && <span className="curve-card-goal">{metric.goal}</span>}
        <Button
          quiet
          small
          title={isWide ? `Show ${title} small` : `Show ${title} wide`}
          aria-pressed={isWide}
          onClick={onWide}
        >
          <span aria-hidden="true">⤢</span>
        </Button>
        {layer && query.data && isVisible && (
          <ExportMenu name={title} figure={() => figureOf(title, layer, query.data, settings)} />
        )}
      </figcaption>
      <div className="curve-card-body" style={{ minHeight: height }}>
        {query.isError && query.data === undefined && (
          <p role="alert" className="curve-card-message">
            {query.error instanceof Error ? query.error.message : "Failed to load"}{" "}
            <Button small onClick={() => void query.refetch()}>
              Retry
            </Button>
          </p>
        )}
        {layer && query.data && isVisible && (
          <Chart layer={layer} loaded={query.data} {...{ title, settings, height, hovered, onHover, onOpen }} />
        )}
      </div>
      {layer?.notes.map(note => (
        <p key={note} className="curve-card-note">
          {note}
        </p>
      ))}
    </figure>
  );
}

type ChartProps = Pick<CurveCardProps, "settings" | "hovered" | "onHover" | "onOpen"> & {
  layer: Layer;
  loaded: Loaded;
  title: string;
  height: number;
};

function Chart({ layer, loaded, title, settings, height, hovered, onHover, onOpen }: ChartProps) {
  if (layer.lines.length === 0 && layer.marks.length === 0) {
    const { lines, bands } = loaded.panel;
    const isHidden = lines.length + bands.length > 0;
    return (
      <p className="curve-card-message">
        {isHidden ? "Its lines are hidden in the legend." : "No trial that is shown has reported it."}
      </p>
    );
  }
  return (
    <CurvePlot
      name={title}
      layer={layer}
      xKind={settings.x}
      height={height}
      hovered={hovered}
      onHover={onHover}
      onOpen={onOpen}
      onRange={setRange}
    />
  );
}

function figureOf(name: string, layer: Layer, loaded: Loaded, settings: Settings): Figure {
  const hasLegend = layer.lines.length <= MOST_NAMED;
  return {
    name: `curves-${name}`,
    title: `${name} by ${nameOfX(settings.x)}`,
    draw: (context, size) => drawLayer(context, frameIn(size, layer.y), layer),
    legend: hasLegend
      ? legendOf(loaded.grid, settings)
          .filter(item => isShown(item.key, settings))
          .map(signOf)
      : [],
    rows: () => tableOf(name, layer, settings),
  };
}

function signOf({ label, colour, dashed }: ReturnType<typeof legendOf>[number]): LegendItem {
  if ("token" in colour) return { sign: dashed ? "dashed" : "line", token: colour.token, label };
  const paint = (context: CanvasRenderingContext2D, box: { x: number; y: number; width: number; height: number }) => {
    context.fillStyle = cssOf(colour);
    context.fillRect(box.x, box.y + box.height / 2 - 1.5, box.width, 3);
  };
  return { sign: "paint", paint, label };
}

/** A row per point that is shown: line, x, value. */
export function tableOf(name: string, layer: Layer, settings: Settings): (string | number)[][] {
  const hasBands = layer.lines.some(line => line.band);
  const smooth = settings.smooth > 0 ? ["smoothed"] : [];
  const columns = hasBands ? ["mean", ...smooth, "minimum", "maximum", "trials"] : [name, ...smooth];
  const rows: (string | number)[][] = [["line", columnNameOf(layer.x), ...columns]];
  for (const { label, x, y, raw, band } of layer.lines)
    x.forEach((place, at) => {
      const values = raw ? [raw[at], y[at]] : [y[at]];
      const more = band ? [band.low[at], band.high[at], band.curves[at]] : [];
      rows.push([label, place, ...([...values, ...more] as number[])]);
    });
  for (const mark of layer.marks) rows.push([mark.line.label, mark.x, mark.value]);
  return rows;
}

/** Whether an element is in view, or almost. */
function useVisible(box: React.RefObject<HTMLElement | null>): boolean {
  const [isVisible, setVisible] = useState(typeof IntersectionObserver === "undefined");
  useEffect(() => {
    if (typeof IntersectionObserver === "undefined" || !box.current) return;
    const observer = new IntersectionObserver(entries => setVisible(entries.some(entry => entry.isIntersecting)), {
      rootMargin: AHEAD,
    });
    observer.observe(box.current);
    return () => observer.disconnect();
  }, [box]);
  return isVisible;
}
