// The best value of a sweep so far, with its metric and goal; one per objective.
import { formatNumber } from "../format";
import { objectivesOf, ruleOf, type Sweep } from "./sweep";
import "./best.css";

export function goalSign(goal: string): string {
  return goal === "maximize" ? "↑" : "↓";
}

export function BestValue({ sweep }: { sweep: Sweep }) {
  const objectives = objectivesOf(sweep);
  const best = sweep.best;
  return (
    <span className="best">
      {objectives.map((objective, place) => {
        const value = best ? (best.values?.[objective.name] ?? (place === 0 ? best.value : null)) : null;
        const better = objective.goal === "maximize" ? "higher is better" : "lower is better";
        return (
          <span key={objective.name} className="best-one">
            <span className={value === null ? "best-none" : "best-value"}>{formatNumber(value)}</span>{" "}
            <span className="best-metric" title={[better, ruleOf(sweep)].filter(Boolean).join("; best ")}>
              {objective.name} <span aria-hidden="true">{goalSign(objective.goal)}</span>
            </span>
          </span>
        );
      })}
    </span>
  );
}
