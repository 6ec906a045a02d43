// Suggestions while a filter is typed: names, operators and values at the cursor.
import { FIELDS } from "./filter-fields";
import { nameOf, paramName, TERM, textOf, tokensOf } from "./filter-terms";
import { FIGURE_NAMES, FIGURES, type Figure, figureInFilter } from "./metric-summary-columns";

export type Known = {
  params: readonly { name: string; values: readonly unknown[] | null }[];
  objectives: readonly string[];
  others: readonly string[]; // attrs.NAME, constraints.NAME
  metrics?: readonly string[]; // names
};
export type Suggestion = { insert: string; label: string; hint: string; open: boolean };

const SHOWN = 9;
const OPERATORS = [
  ["<", "below"],
  [">", "above"],
  [":", "a value, a comma-separated list, or a range: 0.1..0.5"],
  ["!=", "not equal"],
] as const;

/** The completions at the cursor; each replaces `start` to `end` of the text. */
export function suggest(
  text: string,
  cursor: number,
  known: Known,
): { start: number; end: number; found: Suggestion[] } {
  const token = tokensOf(text).find(each => each.start <= cursor && cursor <= each.end);
  const { start, end } = token ?? { start: cursor, end: cursor };
  const written = text.slice(start, cursor);
  const minus = written.startsWith("-") ? "-" : "";
  const body = written.slice(minus.length);
  const term = TERM.exec(body);
  const found = term ? values(minus, term, known) : names(minus, body, known);
  return { start, end, found: found.slice(0, SHOWN) };
}

function values(minus: string, [, name = "", operator = "", rest = ""]: RegExpExecArray, known: Known): Suggestion[] {
  const comma = rest.lastIndexOf(",") + 1;
  const typed = rest.slice(comma).toLowerCase();
  const before = minus + name + operator + rest.slice(0, comma);
  return valuesFor(name, known)
    .filter(value => value.toLowerCase().startsWith(typed) && value.toLowerCase() !== typed)
    .map(value => ({ insert: `${before}${value} `, label: value, hint: "", open: false }));
}

function valuesFor(name: string, known: Known): readonly string[] {
  const param = known.params.find(each => paramName(each.name) === name);
  return FIELDS[name]?.values ?? param?.values?.map(textOf) ?? [];
}

/** Metrics by their last value, and after `min(` and the like by that figure. */
function metricNames(typed: string, { metrics = [], params, objectives }: Known) {
  const [figure] = typed.split("(", 1);
  const isFigure = typed.includes("(") && FIGURES.includes(figure as Figure);
  const taken = new Set([...params.map(param => param.name), ...objectives]);
  return metrics.flatMap(metric => {
    const found: { name: string; hint: string; colon: boolean }[] = [];
    if (!taken.has(metric)) found.push({ name: nameOf(metric), hint: "last value of the metric", colon: false });
    if (isFigure)
      found.push({
        name: figureInFilter({ figure: figure as Figure, metric }),
        hint: FIGURE_NAMES[figure as Figure],
        colon: false,
      });
    return found;
  });
}

function names(minus: string, typed: string, known: Known): Suggestion[] {
  const all = [
    ...known.params.map(param => ({
      name: paramName(param.name),
      hint: param.values ? `parameter: ${param.values.map(textOf).slice(0, 4).join(", ")}` : "parameter",
      colon: param.values !== null,
    })),
    ...known.objectives.map(name => ({ name: nameOf(name), hint: "objective value", colon: false })),
    ...Object.entries(FIELDS).map(([name, field]) => ({
      name,
      hint: field.hint,
      colon: field.values !== undefined || field.text === true,
    })),
    ...known.others.map(name => ({ name: nameOf(name), hint: "attribute set by the trial", colon: false })),
  ];
  all.push(...metricNames(typed, known));
  const lower = typed.toLowerCase();
  const exact = all.find(each => each.name === typed);
  if (exact && !exact.colon) {
    return OPERATORS.map(([sign, hint]) => ({ insert: minus + typed + sign, label: typed + sign, hint, open: true }));
  }
  const near = [
    ...all.filter(each => each.name.toLowerCase().startsWith(lower)),
    ...all.filter(each => lower !== "" && each.name.toLowerCase().indexOf(lower) > 0),
  ];
  return near.map(({ name, hint, colon }) => ({
    insert: minus + name + (colon ? ":" : ""),
    label: name + (colon ? ":" : ""),
    hint,
    open: true,
  }));
}
