// What a sweep file says of objectives and parameters, as the views of its trials need it.
import { objectivesOf, type Sweep } from "../sweep/words";
import type { Known } from "./filter-language";

type Spec = {
  parameters?: Record<string, { value?: unknown; values?: unknown[] | null; min?: unknown }>;
};

/** The names of parameters that are the same in every trial. */
export function constantsOf(sweep: Sweep): string[] {
  const parameters = (sweep.spec as Spec).parameters ?? {};
  return Object.entries(parameters).flatMap(([name, each]) => (isConstant(each) ? [name] : []));
}

function isConstant({ values, value, min }: { value?: unknown; values?: unknown[] | null; min?: unknown }): boolean {
  if (values) return values.length === 1;
  return value !== undefined && (min === undefined || min === null);
}

/** A range, or a choice of numbers alone: it stands to the right. */
export function isNumeric(sweep: Sweep, name: string): boolean {
  const parameter = (sweep.spec as Spec).parameters?.[name];
  const values = parameter?.values ?? [];
  return typeof parameter?.min === "number" || (values.length > 0 && values.every(each => typeof each === "number"));
}

/** What a filter may name: the sweep file's parameters, and those that its trials have beside. */
export function knownOf(sweep: Sweep | undefined, columns: readonly string[]): Known {
  const parameters = (sweep?.spec as Spec | undefined)?.parameters ?? {};
  const seen = columns.flatMap(column => (column.startsWith("params.") ? [column.slice("params.".length)] : []));
  return {
    params: [...new Set([...Object.keys(parameters), ...seen])].map(name => ({
      name,
      values: parameters[name]?.values ?? null,
    })),
    objectives: sweep ? objectivesOf(sweep).map(each => each.name) : [],
    others: columns.filter(column => column.startsWith("attrs.") || column.startsWith("constraints.")),
  };
}
