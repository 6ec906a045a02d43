// The controls of the grid of curves. Each writes its setting into the URL.
import { useId } from "react";
import { formatCount } from "../format";
import { setQuery, useQueryState } from "../url-query-state";
import { Button } from "../widgets/button";
import { Checkbox } from "../widgets/checkbox";
import { type Option, Select } from "../widgets/select";
import type { MetricName } from "./prefix-groups";
import { COUNTS, DEFAULT_COUNT, nameOfX, type Settings, SMOOTHEST, setRange } from "./settings";

type ToolbarProps = {
  settings: Settings;
  metrics: readonly MetricName[];
  parameters: readonly string[]; // of the sweep; without any, trials are not coloured or grouped
  ofOneTrial: boolean;
};

const OTHER = "another metric…";

export function Toolbar({ settings, metrics, parameters, ofOneTrial }: ToolbarProps) {
  const [find, setFind] = useQueryState("find");
  return (
    <div className="curve-toolbar" role="toolbar" aria-label="Settings of the curves">
      <input
        type="search"
        className="curve-find"
        aria-label="Find metrics"
        placeholder={`Find in ${formatCount(metrics.length)} ${metrics.length === 1 ? "metric" : "metrics"}`}
        value={find}
        onChange={event => setFind(event.target.value)}
      />
      <XAxis settings={settings} metrics={metrics} />
      {!ofOneTrial && <Trials settings={settings} parameters={parameters} />}
      <label className="labelled-control">
        Smoothing
        <input
          type="range"
          min={0}
          max={SMOOTHEST}
          step={0.01}
          value={settings.smooth}
          aria-valuetext={settings.smooth === 0 ? "none" : settings.smooth.toFixed(2)}
          onChange={event => setQuery({ smooth: event.target.value === "0" ? "" : event.target.value })}
        />
      </label>
      <Checkbox label="Log x" on={settings.logX} onChange={on => setLog(on, settings.logY)} />
      <Checkbox label="Log y" on={settings.logY} onChange={on => setLog(settings.logX, on)} />
      {settings.range && (
        <Button small onClick={() => setRange(null)}>
          Reset zoom
        </Button>
      )}
    </div>
  );
}

function setLog(x: boolean, y: boolean): void {
  setQuery({ log: `${x ? "x" : ""}${y ? "y" : ""}` });
}

function XAxis({ settings, metrics }: { settings: Settings; metrics: readonly MetricName[] }) {
  const id = useId();
  const isMetric = settings.x.startsWith("metric:");
  const options: Option[] = [
    { value: "step", name: "step" },
    { value: "time", name: "time" },
    { value: "runtime", name: "running time" },
    { value: OTHER, name: OTHER },
  ];
  const choose = (x: string) => setQuery({ x: x === "step" ? "" : x, from: "", to: "" }); // a range has the unit of its axis
  const first = metrics.find(({ goal }) => !goal)?.name ?? metrics[0]?.name ?? "";
  return (
    <>
      <Select
        label="X axis"
        value={isMetric ? OTHER : settings.x}
        options={options}
        onChange={value => choose(value === OTHER ? `metric:${first}` : value)}
      />
      {isMetric && (
        <>
          <input
            key={settings.x}
            className="curve-x-metric"
            aria-label="Metric of the x axis"
            list={id}
            defaultValue={nameOfX(settings.x)}
            onChange={event => {
              if (metrics.some(({ name }) => name === event.target.value)) choose(`metric:${event.target.value}`);
            }}
          />
          <datalist id={id}>
            {metrics.map(({ name }) => (
              <option key={name} value={name} />
            ))}
          </datalist>
        </>
      )}
    </>
  );
}

function Trials({ settings, parameters }: { settings: Settings; parameters: readonly string[] }) {
  const colours: Option[] = [
    { value: "", name: "automatic" },
    { value: "trial", name: "trial" },
    { value: "result", name: "result" },
    { value: "state", name: "state" },
    { value: "tag", name: "tag" },
    ...parameters.map(name => ({ value: `params.${name}`, name })),
  ];
  const isKnown = colours.some(({ value }) => value === settings.color);
  return (
    <>
      <Select
        label={settings.bands ? "Group by" : "Color by"}
        value={settings.color}
        options={isKnown ? colours : [...colours, { value: settings.color, name: settings.color }]}
        onChange={color => setQuery({ color, hide: "", only: "" })}
      />
      <Select
        label="Show"
        value={settings.bands ? "bands" : "lines"}
        options={[
          { value: "lines", name: "a line per trial" },
          { value: "bands", name: "mean, minimum and maximum" },
        ]}
        onChange={show => setQuery({ show: show === "bands" ? show : "", hide: "", only: "" })}
      />
      {!settings.bands && (
        <Select
          label="Of"
          value={String(settings.count)}
          options={COUNTS.map(count => ({ value: String(count), name: `${count} trials` }))}
          onChange={count => setQuery({ curves: Number(count) === DEFAULT_COUNT ? "" : count })}
        />
      )}
    </>
  );
}
