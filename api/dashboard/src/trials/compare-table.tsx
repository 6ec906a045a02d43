// Trials side by side: results and parameters, with differences from the first marked.
import type { ReactNode } from "react";
import { Link } from "wouter";
import type { Schemas } from "../api";
import { formatDuration, formatNumber, formatValue } from "../format";
import { difference, isLog, parametersOf } from "../pages/trial/parameter-difference";
import { type Objective, objectivesOf, ruleOf, type Sweep } from "../sweep/sweep";
import { Button } from "../widgets/button";
import { Icon } from "../widgets/icon";
import { StateBadge } from "../widgets/state-badge";
import "./compare-table.css";
import { samplerText } from "./parameter-origin-text";
import { trialHref } from "./trial-references";

export type Trial = Schemas["TrialDetail"];
type Line = { name: ReactNode; key: string; cells: readonly ReactNode[]; differs: boolean };
type CompareProps = {
  sweep: Sweep;
  trials: readonly Trial[];
  only: boolean; // rows that differ
  onFirst: (trialId: number) => void;
  onDrop: (trialId: number) => void;
};

export function CompareTable({ sweep, trials, only, onFirst, onDrop }: CompareProps) {
  const groups = [
    { name: "Results", lines: results(sweep, trials) },
    { name: "Parameters", lines: parameters(sweep, trials) },
    { name: "Run", lines: runDetails(trials) },
  ];
  return (
    <div className="compare-frame">
      <table className="compare">
        <caption className="hidden-text">Trials side by side</caption>
        <thead>
          <tr>
            <td />
            {trials.map((trial, at) => (
              <th key={trial.id} scope="col">
                <div className="compare-head">
                  <Link href={trialHref(trial.sweep_id, trial.number)}>Trial {trial.number}</Link>
                  {at > 0 && (
                    <Button
                      quiet
                      small
                      title={`Use trial ${trial.number} as the reference`}
                      onClick={() => onFirst(trial.id)}
                    >
                      <Icon name="left" size={14} />
                    </Button>
                  )}
                  {trials.length > 2 && (
                    <Button quiet small title={`Remove trial ${trial.number}`} onClick={() => onDrop(trial.id)}>
                      <Icon name="close" size={14} />
                    </Button>
                  )}
                </div>
              </th>
            ))}
          </tr>
        </thead>
        {groups.map(group => (
          <Group
            key={group.name}
            name={group.name}
            span={trials.length + 1}
            lines={group.lines.filter(line => line.differs || !only)}
          />
        ))}
      </table>
    </div>
  );
}

function Group({ name, span, lines }: { name: string; span: number; lines: readonly Line[] }) {
  return (
    <tbody>
      <tr>
        <th colSpan={span} scope="colgroup" className="compare-group">
          {name}
          {lines.length === 0 && <span className="compare-same"> same in all trials</span>}
        </th>
      </tr>
      {lines.map(line => (
        <tr key={line.key} className={line.differs ? "compare-differs" : undefined}>
          <th scope="row" className="mono">
            {line.name}
          </th>
          {line.cells.map((cell, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a cell is identified by its trial's index
            <td key={at}>{cell}</td>
          ))}
        </tr>
      ))}
    </tbody>
  );
}

function results(sweep: Sweep, trials: readonly Trial[]): Line[] {
  return objectivesOf(sweep).map((objective, at) => {
    const values = trials.map(trial => (at === 0 ? trial.value : (trial.values?.[objective.name] ?? null)));
    const best = bestOf(values, objective);
    return {
      key: objective.name,
      name: `${objective.name} ${objective.goal === "maximize" ? "↑" : "↓"}${ruleOf(sweep) && `, ${ruleOf(sweep)}`}`,
      differs: differ(values),
      cells: values.map((value, place) =>
        value === null ? (
          "–"
        ) : (
          <span key={trials[place]?.id} className={value === best ? "compare-best" : undefined} title={String(value)}>
            {value === best && <span className="hidden-text">best of these: </span>}
            {formatNumber(value, 5)}
          </span>
        ),
      ),
    };
  });
}

function bestOf(values: readonly (number | null)[], { goal }: Objective): number | null {
  const present = values.filter(value => value !== null);
  if (present.length < 2) return null;
  return goal === "maximize" ? Math.max(...present) : Math.min(...present);
}

function parameters(sweep: Sweep, trials: readonly Trial[]): Line[] {
  const specs = parametersOf(sweep.spec);
  const names = new Set([...Object.keys(specs), ...trials.flatMap(trial => Object.keys(trial.params))]);
  return [...names].map(name => {
    const values = trials.map(trial => trial.params[name]);
    return {
      key: `params.${name}`,
      name,
      differs: differ(values),
      cells: values.map((value, at) => (
        <>
          <span title={value === undefined ? undefined : String(value)}>{formatValue(value)}</span>
          {at > 0 && value !== values[0] && (
            <span className="compare-difference">{difference(value, values[0], isLog(specs[name])).text}</span>
          )}
        </>
      )),
    };
  });
}

function runDetails(trials: readonly Trial[]): Line[] {
  const line = (name: string, of: (trial: Trial) => ReactNode): Line => {
    const cells = trials.map(of);
    return { key: name, name, cells, differs: differ(cells) };
  };
  const states: Line = {
    key: "state",
    name: "state",
    cells: trials.map(trial => <StateBadge key={trial.id} state={trial.state} />),
    differs: differ(trials.map(trial => trial.state)),
  };
  return [
    states,
    line("running time", trial => formatDuration(trial.running_s)),
    line("queued", trial => formatDuration(trial.queued_s)),
    line("device", trial => trial.device ?? "–"),
    line("attempts", trial => String(trial.attempt)),
    line("cause", trial => trial.cause?.replaceAll("_", " ") ?? "–"),
    line("sampler", samplerText),
    line("tags", trial => trial.tags.join(", ") || "–"),
  ];
}

function differ(values: readonly unknown[]): boolean {
  return values.some(value => value !== values[0]);
}
