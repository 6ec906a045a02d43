// The search space of a sweep as text.
import { formatValue } from "../format";
import { asBlock } from "./sweep";

export type SpaceRow = { name: string; kind: string; range: string; note: string };

/** One row per parameter of the sweep specification. */
export function spaceOf(parameters: unknown): SpaceRow[] {
  return Object.entries(asBlock(parameters)).map(([name, value]) => rowOf(name, asBlock(value)));
}

function rowOf(name: string, parameter: Record<string, unknown>): SpaceRow {
  const notes: string[] = [];
  if (parameter.log === true) notes.push("log scale");
  if (parameter.step !== undefined && parameter.step !== null) notes.push(`step ${formatValue(parameter.step)}`);
  if (parameter.q !== undefined && parameter.q !== null) notes.push(`multiples of ${formatValue(parameter.q)}`);
  if (parameter.probabilities) notes.push("weighted");
  for (const [other, condition] of Object.entries(asBlock(parameter.when))) {
    const values = Array.isArray(condition) ? condition : [condition];
    notes.push(`only if ${other} is ${values.map(formatValue).join(" or ")}`);
  }
  return { name, ...kindAndRange(parameter), note: notes.join("; ") };
}

function kindAndRange(parameter: Record<string, unknown>): { kind: string; range: string } {
  if (Array.isArray(parameter.values)) {
    return { kind: "choice", range: parameter.values.map(formatValue).join(", ") };
  }
  if ("min" in parameter && parameter.min !== null && parameter.max !== null) {
    return { kind: "range", range: `${formatValue(parameter.min)} to ${formatValue(parameter.max)}` };
  }
  if (typeof parameter.distribution === "string") {
    const shape = (parameter.distribution.endsWith("beta") ? ["a", "b"] : ["mu", "sigma"]).filter(
      key => key in parameter,
    );
    return {
      kind: parameter.distribution.replaceAll("_", " "),
      range: shape.map(key => `${key} ${formatValue(parameter[key])}`).join(", "),
    };
  }
  return { kind: "constant", range: formatValue(parameter.value) };
}
