// The part of the filter language that the page needs: suggestions while typing, and terms set by clicks.

export type Known = {
  params: readonly { name: string; values: readonly unknown[] | null }[];
  objectives: readonly string[];
  others: readonly string[]; // attrs.NAME, constraints.NAME
};
export type Suggestion = { insert: string; label: string; hint: string; open: boolean };
type Token = { start: number; end: number; text: string };
type Field = { hint: string; values?: readonly string[]; text?: boolean };

const SHOWN = 9;
export const STATES: readonly string[] = ["running", "waiting", "finished", "pruned", "failed", "cancelled"];
const CAUSES = [
  ...["user_error", "non_finite", "oom", "timeout", "stalled", "exited", "signal", "bad_report", "host_memory"],
  ...["device_memory", "disk_quota", "disk_full", "node_lost", "start_timeout", "pinning", "cancelled"],
  "infrastructure",
];
const FIELDS: Record<string, Field> = {
  state: { hint: "trial state", values: STATES },
  value: { hint: "objective value" },
  top: { hint: "the N best trials", values: ["10", "50", "100"] },
  duration_s: { hint: "duration in seconds" },
  tag: { hint: "tag; * is a wildcard", text: true },
  note: { hint: "words in the note; * is a wildcard", text: true },
  device: { hint: "device; cuda-* matches all of a kind", text: true },
  cause: { hint: "failure cause", values: CAUSES },
  number: { hint: "number in the sweep; short form #17" },
  attempt: { hint: "number of attempts" },
  sampler: { hint: "sampler", text: true },
  fallback_reason: { hint: "why it was sampled at random instead", values: ["slow", "failed", "process_ended"] },
  proposed_for: { hint: "number of the trial that a late proposal was for" },
  feasible: { hint: "whether all constraints are satisfied", values: ["yes", "no"] },
  id: { hint: "trial id" },
};
const OPERATORS = [
  ["<", "below"],
  [">", "above"],
  [":", "a value, a comma-separated list, or a range: 0.1..0.5"],
  ["!=", "not equal"],
] as const;
const TERM = /^("(?:[^"\\]|\\.)*"|[^\s"<>=!:,]+)(<=|>=|!=|==|<|>|=|:)(.*)$/s;
const PLAIN = /^[^\s"<>=!:,#-][^\s"<>=!:,]*$/;

/** The terms of a filter with their positions; an unclosed quote extends to the end. */
export function tokensOf(text: string): Token[] {
  const found: Token[] = [];
  for (const match of text.matchAll(/(?:"(?:[^"\\]|\\.)*"?|[^\s"])+/g))
    found.push({ start: match.index, end: match.index + match[0].length, text: match[0] });
  return found;
}

/** A name in filter syntax: quoted if it contains spaces or operators. */
export function nameOf(name: string): string {
  return PLAIN.test(name) ? name : quoted(name);
}

/** A parameter's name in filter syntax, also if a column has the same name. */
export function paramName(name: string): string {
  return nameOf(name in FIELDS || name.includes(".") ? `params.${name}` : name);
}

/** A value in filter syntax: strings that would be parsed as another type are quoted. */
export function textOf(value: unknown): string {
  if (typeof value !== "string") return String(value);
  const other = value.trim() === "" || Number.isFinite(Number(value)) || /^(true|false|null|none)$/i.test(value);
  return other || /[\s",*]|\.\./.test(value) ? quoted(value) : value;
}

function quoted(text: string): string {
  return `"${text.replace(/(["\\])/g, "\\$1")}"`;
}

function termName(token: string): string {
  return TERM.exec(token)?.[1] ?? "";
}

/** The filter with its plain terms on `name` (as written by `nameOf` or `paramName`) replaced by `term`; "" removes them. */
export function withTerm(filter: string, name: string, term: string): string {
  const others = tokensOf(filter).filter(token => termName(token.text) !== name);
  return [...others.map(token => token.text), ...(term ? [term] : [])].join(" ");
}

/** The terms of a filter on one name. */
export function termsOn(filter: string, name: string): string[] {
  return tokensOf(filter).flatMap(token => (termName(token.text) === name ? [token.text] : []));
}

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
