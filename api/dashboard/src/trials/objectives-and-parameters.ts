// Objectives and parameters of a sweep file, as the trial views need them.
import { objectivesOf, type Sweep } from "../sweep/sweep";
import type { Known } from "./filter-suggestions";

type Spec = {
  parameters?: Record<string, { value?: unknown; values?: unknown[] | null; min?: unknown }>;
};

/** The names of constant parameters. */
export function constantsOf(sweep: Sweep): string[] {
  const parameters = (sweep.spec as Spec).parameters ?? {};
  return Object.entries(parameters).flatMap(([name, each]) => (isConstant(each) ? [name] : []));
}

function isConstant({ values, value, min }: { value?: unknown; values?: unknown[] | null; min?: unknown }): boolean {
  if (values) return values.length === 1;
  return value !== undefined && (min === undefined || min === null);
}

/** Whether a parameter is numeric (a range, or a choice of numbers only), and right-aligned. */
export function isNumeric(sweep: Sweep, name: string): boolean {
  const parameter = (sweep.spec as Spec).parameters?.[name];
  const values = parameter?.values ?? [];
  return typeof parameter?.min === "number" || (values.length > 0 && values.every(each => typeof each === "number"));
}

/** The names that a filter may use: the sweep file's parameters, and others that its trials have. */
export function filterNamesOf(
  sweep: Sweep | undefined,
  columns: readonly string[],
  metrics: readonly string[] = [],
): Known {
  const parameters = (sweep?.spec as Spec | undefined)?.parameters ?? {};
  const seen = columns.flatMap(column => (column.startsWith("params.") ? [column.slice("params.".length)] : []));
  return {
    params: [...new Set([...Object.keys(parameters), ...seen])].map(name => ({
      name,
      values: parameters[name]?.values ?? null,
    })),
    objectives: sweep ? objectivesOf(sweep).map(each => each.name) : [],
    others: columns.filter(column => column.startsWith("attrs.") || column.startsWith("constraints.")),
    metrics,
  };
}
