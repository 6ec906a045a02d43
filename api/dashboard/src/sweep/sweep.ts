// Derived facts about a sweep: objectives, progress, remaining budget, available commands.
import type { Schemas } from "../api";
import { formatCount, formatDuration, formatNumber } from "../format";

export type Sweep = Schemas["SweepView"];
export type Objective = { name: string; goal: "maximize" | "minimize" };
export type Command = "pause" | "resume" | "stop" | "cancel" | "extend" | "release";
export type BudgetLine = { name: string; share: number; left: string; title: string };

const POSSIBLE: Record<Command, readonly string[]> = {
  pause: ["queued", "running"],
  resume: ["paused"],
  stop: ["queued", "running", "paused"],
  cancel: ["queued", "running", "paused", "stopping"],
  extend: ["queued", "running", "paused", "stopping", "finished"],
  release: ["queued", "paused"],
};

export const ENDED_STATES: readonly string[] = ["finished", "failed", "cancelled"];
export const ACTIVE_STATES: readonly string[] = ["queued", "running", "paused", "stopping"];

export function can(command: Command, sweep: Sweep): boolean {
  if (command === "release" ? !sweep.held : command === "stop" && sweep.held) return false;
  return POSSIBLE[command].includes(sweep.state) && !("imported" in asBlock(sweep.spec.program));
}

/** The warning if a retry or a clone restarts a sweep that has ended; else empty. */
export function restartWarning(state: string | undefined, what: string): string {
  if (state !== "finished" && state !== "failed") return "";
  return `The sweep ${state === "failed" ? "has failed" : "is finished"}; ${what} restarts it.`;
}

/** The objectives, primary first. */
export function objectivesOf(sweep: Sweep): Objective[] {
  const several = sweep.spec.metrics as Objective[] | null | undefined;
  if (several && several.length > 0) return several;
  const one = sweep.spec.metric as Objective | undefined;
  return one ? [one] : [];
}

const RULES = { last: "by last value", min: "by lowest value", max: "by highest value" };

/** Which value of a trial counts, such as "by last value"; "" where it is the best one by the goal. */
export function ruleText(rule: Sweep["value_rule"] | undefined, goal: string | undefined): string {
  const isOwn = rule === undefined || rule === (goal === "maximize" ? "max" : "min");
  return isOwn ? "" : RULES[rule];
}

/** The same of a sweep. */
export function ruleOf(sweep: Sweep): string {
  return ruleText(sweep.value_rule, objectivesOf(sweep)[0]?.goal);
}

/** Trials that count towards the run cap: finished or pruned. */
export function countedOf(sweep: Sweep): number {
  return (sweep.counts.finished ?? 0) + (sweep.counts.pruned ?? 0);
}

/** All trials of a sweep; 0 while it is loaded. */
export function totalOf(sweep: Pick<Sweep, "counts"> | undefined): number {
  return Object.values(sweep?.counts ?? {}).reduce((sum: number, count) => sum + (count ?? 0), 0);
}

/** "18 finished, 4 pruned, 2 running" */
export function countsText(sweep: Sweep): string {
  const order = ["running", "finished", "pruned", "failed", "cancelled", "waiting"];
  const parts = order
    .filter(state => (sweep.counts[state] ?? 0) > 0)
    .map(state => `${formatCount(sweep.counts[state])} ${state}`);
  return parts.join(", ") || "no trials yet";
}

/** The remaining budget of each limit. */
export function budgetLines(sweep: Sweep): BudgetLine[] {
  const budget = sweep.budget;
  if (!budget) return [];
  const lines: BudgetLine[] = [];
  const time = (name: string, spent: { used: number; allowed: number | null }) => {
    if (spent.allowed === null) return;
    const left = Math.max(0, spent.allowed - spent.used);
    const used = spent.used > 0 ? formatDuration(spent.used) : "none";
    const title = `${used} used of ${formatDuration(spent.allowed)}`;
    lines.push({ name, share: share(spent.used, spent.allowed), left: `${formatDuration(left)} left`, title });
  };
  time("time", budget.wall_s);
  time("device time", budget.device_s);
  if (budget.plateau) {
    const { used, allowed } = budget.plateau;
    const left = Math.max(0, allowed - used);
    const title = `${trialsText(used)} without improvement; the limit is ${formatCount(allowed)}`;
    lines.push({ name: "plateau", share: share(used, allowed), left: `${trialsText(left)} left`, title });
  }
  if (budget.target) {
    const by = budget.target.reached_by;
    const left = by === null ? "not reached" : `reached by trial ${by}`;
    const title = `the sweep ends when a trial reaches ${formatNumber(budget.target.value)}`;
    lines.push({ name: `target ${formatNumber(budget.target.value)}`, share: by === null ? 0 : 1, left, title });
  }
  return lines;
}

/** "1 trial", "12 trials" */
export function trialsText(count: number): string {
  return count === 1 ? "1 trial" : `${formatCount(count)} trials`;
}

/** An estimated duration, rounded to its precision: "45 min", "2 h 10 min". */
export function formatEstimate(seconds: number): string {
  const step = seconds < 60 ? 5 : seconds < 600 ? 30 : seconds < 7200 ? 60 : seconds < 86_400 ? 600 : 3600;
  const round = Math.max(step, Math.round(seconds / step) * step);
  return round < 60 ? `${round} s` : formatDuration(round);
}

function share(used: number, allowed: number): number {
  return allowed > 0 ? Math.min(1, used / allowed) : 1;
}

/** The duration so far, or in total, in seconds. */
export function durationS(sweep: Sweep, now = Date.now()): number | null {
  if (!sweep.started_at) return null;
  const end = sweep.ended_at ? Date.parse(sweep.ended_at) : now;
  return Math.max(0, (end - Date.parse(sweep.started_at)) / 1000);
}

export function asBlock(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}
