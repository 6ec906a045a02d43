// The selection path, of an ensemble and of a preview: which trial was added at each step, and the score after it.

import { useMemo } from "react";
import { ScrollX } from "../widgets/scroll-x";
import type { Series } from "./draw-line-chart";
import type { Ensemble, Step } from "./ensemble-types-and-labels";
import { Chart } from "./line-chart";
import { figure, formatScore, metricOf } from "./score-metrics";

const SCORES: Record<string, string> = {
  greedy: "Validation loss",
  diverse: "Negative mix of score and disagreement",
};

/** The path of an ensemble as it was recorded. */
export function SelectionHistory({ ensemble }: { ensemble: Ensemble }) {
  const { path, method } = ensemble.selection;
  const numbers = new Map(ensemble.members.map(member => [member.trial_id, member.trial_number]));
  const series = useMemo<Series[]>(
    () => [{ name: "Ensemble", tone: 1, dots: true, points: path.map((step, index) => [index + 1, step.score]) }],
    [path],
  );
  const trial = (x: number) => {
    const id = path[x - 1]?.trial_id;
    if (id === undefined) return "";
    return numbers.has(id) ? `trial ${numbers.get(id)}` : `trial id ${id}`;
  };
  const first = formatScore(path[0]?.score);
  const last = formatScore(path.at(-1)?.score);
  return (
    <Chart
      name="selection-path"
      label={`Score after each of ${path.length} selection steps, from ${first} to ${last}; lower is better.`}
      series={series}
      xName="Selection steps"
      yName={SCORES[method] ?? "Score"}
      integer
      say={trial}
      height={210}
    />
  );
}

export function PathChart({ steps, task, method }: { steps: readonly Step[]; task: string; method: string }) {
  const key = task === "classification" ? "log_loss" : "rmse";
  const metric = metricOf(key);
  const inside = steps.filter(step => step.inside).length;
  const series = useMemo<Series[]>(() => {
    const of = (name: string, tone: number, rows: "validation" | "calibration"): Series => ({
      name,
      tone,
      dots: steps.length < 30,
      dashed: rows === "calibration",
      points: steps.flatMap((step, index) => {
        const value = figure(step[rows], key);
        return value === null ? [] : [[index + 1, value] as const];
      }),
    });
    const both = [
      of("Selection rows (validation)", 1, "validation"),
      of("Held-out rows (calibration)", 2, "calibration"),
    ];
    return both.filter(one => one.points.length > 0);
  }, [steps, key]);
  const stepText = (x: number) => {
    const step = steps[x - 1];
    return step ? `trial ${step.number}, ${step.members} ${step.members === 1 ? "member" : "members"}` : "";
  };
  return (
    <>
      <Chart
        name="selection-path"
        label={`${metric.name} after each of ${steps.length} selection steps, starting at ${formatScore(figure(steps[0]?.validation, key))}.`}
        series={series}
        xName={method === "greedy" ? "Selection steps" : "Members"}
        yName={metric.unit ? `${metric.name} (${metric.unit})` : metric.name}
        integer
        say={stepText}
        until={inside < steps.length ? { x: inside, name: "k" } : undefined}
      />
      <details className="path-table">
        <summary>All selection steps</summary>
        <ScrollX label="All selection steps">
          <table className="figures">
            <thead>
              <tr>
                <th scope="col">Step</th>
                <th scope="col">Trial</th>
                <th scope="col" className="figures-number">
                  Members
                </th>
                <th scope="col" className="figures-number">
                  {metric.name}, validation
                </th>
                <th scope="col" className="figures-number">
                  {metric.name}, calibration
                </th>
              </tr>
            </thead>
            <tbody>
              {steps.map((step, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: a step is identified by its index
                <tr key={index}>
                  <th scope="row">
                    {index + 1}
                    {!step.inside && " (not selected)"}
                  </th>
                  <td>{step.number}</td>
                  <td className="figures-number">{step.members}</td>
                  <td className="figures-number">{formatScore(figure(step.validation, key))}</td>
                  <td className="figures-number">{formatScore(figure(step.calibration, key))}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollX>
      </details>
    </>
  );
}
