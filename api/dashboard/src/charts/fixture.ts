// Points for chart tests, as the service returns them.
import type { Points } from "./trial-columns";

/** Trials of one sweep: the given columns, with defaults for the rest. */
export function pointsOf(columns: Points["columns"], more: Partial<Points> = {}): Points {
  const count = Math.max(...Object.values(columns).map(column => column.length));
  const numbers = Array.from({ length: count }, (_, row) => row);
  return {
    matching: count,
    shown: count,
    digest: "",
    objectives: [{ name: "loss", goal: "minimize" }] as Points["objectives"],
    axes: [],
    columns: {
      id: numbers.map(number => 100 + number),
      number: numbers,
      state: numbers.map(() => "finished"),
      feasible: numbers.map(() => true),
      duration_s: numbers.map(() => 2),
      running_s: numbers.map(() => 2),
      ended_at: numbers.map(number => 1_000 + number),
      ...columns,
    },
    ...more,
  };
}

export function axisView(name: string, more: Partial<Points["axes"][number]> = {}): Points["axes"][number] {
  return { name, kind: "number", log: false, low: null, high: null, choices: null, constant: false, ...more };
}
