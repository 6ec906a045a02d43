// A grid of charts, one per metric, grouped by prefix; of the trials that match a filter, or of one trial.
import { type RefObject, useCallback, useMemo, useRef } from "react";
import { useLocation } from "wouter";
import { useSize } from "../auto-redraw-canvas";
import { formatCount } from "../format";
import { hover, useSelection } from "../selection";
import { trialHref } from "../trials/trial-references";
import { setQuery } from "../url-query-state";
import { Button } from "../widgets/button";
import { Empty } from "../widgets/query-states";
import type { Grid, GridParams } from "./batch-panel-requests";
import { legendOf } from "./chart-scene";
import { CurveCard } from "./curve-card";
import { Legend } from "./legend";
import { type MetricName, type PrefixGroup, prefixGroups } from "./prefix-groups";
import { useLivePanels, usePanel } from "./queries";
import { BAND_COUNT, type Settings, toggleIn, useSettings } from "./settings";
import { Toolbar } from "./toolbar";
import "../charts/plot.css";
import "./curves.css";

type CurveGridProps = {
  sweepId: number;
  filter: string;
  metrics: readonly MetricName[];
  parameters?: readonly string[];
  trialId?: number; // of a grid of one trial
  isPlain?: boolean; // without the toolbar
};

const FIRST = 12; // charts of a group; the others after a click, so that a page with 200 metrics has an end
const FIRST_OF_TRIAL = 6;
const COLUMN = 360; // px; the least width of a chart
const STEP = 200; // the requested number of points is a multiple of it, so that small changes of the width need no request

export function CurveGrid({ sweepId, filter, metrics, parameters = [], trialId, isPlain = false }: CurveGridProps) {
  const box = useRef<HTMLDivElement>(null);
  const settings = useSettings();
  const column = useColumn(box);
  const params = useParams(filter, settings, column ?? COLUMN, trialId !== undefined);
  useLivePanels(sweepId);
  const groups = useMemo(() => prefixGroups(metrics, settings.find), [metrics, settings.find]);
  const first = metrics[0]?.name;
  const grid = usePanel(sweepId, params, first, trialId === undefined && column !== null).data?.grid;
  return (
    <div ref={box} className="curve-grid">
      {!isPlain && (
        <Toolbar settings={settings} metrics={metrics} parameters={parameters} ofOneTrial={trialId !== undefined} />
      )}
      {grid && trialId === undefined && (
        <>
          <p className="curve-hint">{hintOf(grid, settings)}</p>
          <Legend
            items={legendOf(grid, settings)}
            settings={settings}
            label={settings.bands ? "Groups" : "Lines of all charts"}
          />
        </>
      )}
      {groups.length === 0 && (
        <Empty title="No metric found" hint={`No name of ${metrics.length} metrics contains ${settings.find}.`}>
          <Button onClick={() => setQuery({ find: "" })}>Clear search</Button>
        </Empty>
      )}
      {(column === null ? [] : groups).map(group => (
        <Group key={group.prefix} {...{ group, sweepId, params, settings, trialId }} />
      ))}
    </div>
  );
}

type GroupProps = {
  group: PrefixGroup;
  sweepId: number;
  params: GridParams;
  settings: Settings;
  trialId: number | undefined;
};

function Group({ group: { prefix, metrics }, sweepId, params, settings, trialId }: GroupProps) {
  const [, go] = useLocation();
  const { hovered } = useSelection(sweepId);
  const onHover = useCallback((id: number | null) => hover(sweepId, id), [sweepId]);
  const isOpen = !settings.closed.has(prefix) || settings.find !== "";
  const isWhole = settings.whole.has(prefix);
  const first = trialId === undefined ? FIRST : FIRST_OF_TRIAL;
  const shown = isWhole ? metrics : metrics.slice(0, first);
  return (
    <section className="curve-group" aria-label={prefix}>
      <h3>
        <button
          type="button"
          className="curve-group-name"
          aria-expanded={isOpen}
          onClick={() => toggleIn("closed", settings.closed, prefix)}
        >
          <span aria-hidden="true">{isOpen ? "▾" : "▸"}</span> {prefix}{" "}
          <span className="curve-group-count">{metrics.length}</span>
        </button>
      </h3>
      {isOpen && (
        <div className="curve-cards">
          {shown.map(metric => (
            <CurveCard
              key={metric.name}
              {...{ sweepId, metric, params, settings, onHover }}
              hovered={trialId === undefined ? hovered : null}
              onOpen={trialId === undefined ? number => go(trialHref(sweepId, number)) : undefined}
              isWide={settings.wide === metric.name}
              onWide={() => setQuery({ wide: settings.wide === metric.name ? "" : metric.name })}
            />
          ))}
        </div>
      )}
      {isOpen && metrics.length > first && (
        <Button small onClick={() => toggleIn("whole", settings.whole, prefix)}>
          {isWhole ? `Show the first ${first} charts` : `Show all ${formatCount(metrics.length)} charts`}
        </Button>
      )}
    </section>
  );
}

/** The width of a chart in the grid; null before it is known. */
function useColumn(box: RefObject<HTMLElement | null>): number | null {
  const { width } = useSize(box);
  return width <= 0 ? null : width / Math.max(1, Math.floor(width / COLUMN));
}

function useParams(filter: string, settings: Settings, column: number, isOfOneTrial: boolean): GridParams {
  const points = Math.max(STEP, Math.ceil((2 * column) / STEP) * STEP);
  const { x, range, logX, color, bands, count } = settings;
  return useMemo(() => {
    const isGroup = /^(state|tag|params\.)/.test(color);
    return {
      filter,
      x,
      ...(range ? { x_min: range.from, x_max: range.to } : {}),
      x_scale: logX ? "log" : "linear",
      max_points: points,
      limit: isOfOneTrial ? 1 : bands ? BAND_COUNT : count,
      ...(isGroup && !isOfOneTrial ? { group: color } : {}),
      show: bands && !isOfOneTrial ? "bands" : "lines",
    };
  }, [filter, x, range, logX, color, bands, count, points, isOfOneTrial]);
}

function hintOf(grid: Grid, settings: Settings): string {
  const [shown, all] = [grid.trials.length, grid.matching];
  const order = settings.bands ? "" : ": running trials first, then the best, then the newest";
  const what =
    shown >= all
      ? `${formatCount(all)} ${all === 1 ? "trial" : "trials"}`
      : `${formatCount(shown)} of ${formatCount(all)} trials${order}`;
  return `${what}. Drag over a chart to zoom all of them.`;
}
