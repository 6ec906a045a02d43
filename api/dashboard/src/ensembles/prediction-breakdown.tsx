// A prediction of the ensemble: its output, its uncertainty, and each member's contribution and latency.

import type { CSSProperties } from "react";
import { Link } from "wouter";
import { formatMs, formatNumber, formatShare } from "../format";
import { trialHref } from "../trials/trial-references";
import { CutName } from "../widgets/cut-name";
import { ScrollX } from "../widgets/scroll-x";
import { StateBadge } from "../widgets/state-badge";
import type { Ensemble, Prediction } from "./ensemble-types-and-labels";
import { columnsOf, likeliest } from "./prediction-class-columns";
import "./prediction-breakdown.css";

const COLUMNS = 10;
const STATUS_LABELS: Record<string, string> = {
  ok: "answered",
  skipped_open: "skipped, circuit breaker open",
  queue_full: "queue full",
  died: "process died",
};

export function PredictionTable({
  answer,
  ensemble,
  trueLabel,
}: {
  answer: Prediction;
  ensemble: Ensemble;
  trueLabel?: string;
}) {
  const classes = ensemble.task === "classification";
  const members = answer.member_outputs ?? [];
  const given = members.map(rows => rows?.[0]);
  const combined = answer.outputs[0] ?? [];
  const columns = classes
    ? columnsOf([combined, ...given.filter(row => row !== undefined)], COLUMNS)
    : combined.map((_, index) => index);
  return (
    <div className="answer" aria-live="polite">
      <PredictionSummary answer={answer} ensemble={ensemble} trueLabel={trueLabel} />
      <ScrollX label="Predictions by network">
        <table className="figures answer-table">
          <caption className="hidden-text">Predictions by network, with latency</caption>
          <thead>
            <tr>
              <th scope="col">Network</th>
              {columns.map(column => (
                <th key={column} scope="col" className="answer-class" title={ensemble.classes[column]}>
                  <CutName name={ensemble.classes[column] ?? String(column)} />
                </th>
              ))}
              <th scope="col">Status</th>
              <th scope="col" className="figures-number">
                Queue
              </th>
              <th scope="col" className="figures-number">
                Compute
              </th>
            </tr>
          </thead>
          <tbody>
            <tr className="answer-own">
              <th scope="row">Ensemble</th>
              <Cells row={combined} columns={columns} classes={classes} />
              <td>
                {answer.answered} of {answer.requested}
              </td>
              <td className="figures-number">–</td>
              <td className="figures-number">–</td>
            </tr>
            {answer.members.map((part, position) => (
              <tr key={part.member_id}>
                <th scope="row">
                  <Link href={trialHref(part.sweep_id, part.trial_number)}>Trial {part.trial_number}</Link>
                </th>
                <Cells row={given[position]} columns={columns} classes={classes} />
                <td title={part.message || undefined}>{STATUS_LABELS[part.status] ?? part.status}</td>
                <td className="figures-number">{part.status === "ok" ? formatMs(part.queue_ms) : "–"}</td>
                <td className="figures-number">{part.status === "ok" ? formatMs(part.compute_ms) : "–"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollX>
    </div>
  );
}

function PredictionSummary({
  answer,
  ensemble,
  trueLabel,
}: {
  answer: Prediction;
  ensemble: Ensemble;
  trueLabel: string | undefined;
}) {
  const combined = answer.outputs[0] ?? [];
  const label = answer.labels?.[0];
  const right = trueLabel === undefined || label === undefined ? null : trueLabel === label;
  return (
    <div className="answer-lead">
      <div>
        <span className="answer-label">
          {label ??
            combined.map((value, index) => `${ensemble.classes[index] ?? ""} ${formatNumber(value)}`.trim()).join(", ")}
        </span>
        <span className="answer-sure">
          {label === undefined ? deviation(answer) : formatShare(likeliest(combined).share)}
        </span>
        {answer.degraded && <StateBadge state="degraded" />}
      </div>
      {trueLabel !== undefined && (
        <p className={right === null ? "answer-doubt" : right ? "answer-right" : "answer-wrong"}>
          {right === null
            ? `True value: ${trueLabel}`
            : right
              ? `✓ Correct: ${trueLabel}`
              : `✕ Incorrect: true class is ${trueLabel}`}
        </p>
      )}
      <p className="answer-doubt">
        {answer.entropy?.[0] !== undefined &&
          answer.mutual_information?.[0] !== undefined &&
          `Entropy ${formatNumber(answer.entropy[0], 2)} nats (${formatNumber(answer.mutual_information[0], 2)} from disagreement) · `}
        {answer.answered} of {answer.requested} members answered in {formatMs(answer.total_ms)} (deadline{" "}
        {formatMs(answer.deadline_ms)}, quorum {answer.quorum})
      </p>
    </div>
  );
}

function deviation(answer: Prediction): string {
  const parts = answer.variance?.[0];
  return parts ? `± ${parts.map(part => formatNumber(Math.sqrt(part), 3)).join(", ")}` : "";
}

type CellsProps = { row: readonly number[] | undefined; columns: readonly number[]; classes: boolean };

/** A network's prediction: probabilities shaded by value, the most likely in bold. */
function Cells({ row, columns, classes }: CellsProps) {
  if (!row) {
    return (
      <td colSpan={columns.length} className="answer-none">
        no response
      </td>
    );
  }
  const best = classes ? likeliest(row).index : -1;
  return columns.map(column => {
    const value = row[column] ?? 0;
    return (
      <td
        key={column}
        className={column === best ? "answer-cell answer-best" : "answer-cell"}
        style={classes ? ({ "--answer-share": `${(value * 45).toFixed(0)}%` } as CSSProperties) : undefined}
      >
        {classes ? formatProbability(value) : formatNumber(value)}
      </td>
    );
  });
}

function formatProbability(value: number): string {
  if (value < 0.0005) return "0 %";
  return value < 0.1 ? `${(value * 100).toFixed(1)} %` : `${Math.round(value * 100)} %`;
}
