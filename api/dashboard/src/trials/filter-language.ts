// The filter's language as far as the page must know it: what to suggest while it is written, and terms set by clicks.

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
  state: { hint: "where it is in its life", values: STATES },
  value: { hint: "what came out" },
  top: { hint: "the best so many", values: ["10", "50", "100"] },
  duration_s: { hint: "how long it took, in seconds" },
  tag: { hint: "a tag; * is any", text: true },
  note: { hint: "words of the note; * is any", text: true },
  device: { hint: "where it ran; cuda-* is all of a kind", text: true },
  cause: { hint: "why it failed", values: CAUSES },
  number: { hint: "its number in the sweep; #17 for short" },
  attempt: { hint: "how many attempts it took" },
  sampler: { hint: "who chose it", text: true },
  feasible: { hint: "whether it holds the constraints", values: ["yes", "no"] },
  id: { hint: "its id" },
};
const OPERATORS = [
  ["<", "below"],
  [">", "above"],
  [":", "this, these with commas between, or a range: 0.1..0.5"],
  ["!=", "not this"],
] as const;
const TERM = /^("(?:[^"\\]|\\.)*"|[^\s"<>=!:,]+)(<=|>=|!=|==|<|>|=|:)(.*)$/s;
const PLAIN = /^[^\s"<>=!:,#-][^\s"<>=!:,]*$/;

/** The terms of a filter, with where each stands; an open quote takes all that follows. */
export function tokensOf(text: string): Token[] {
  const found: Token[] = [];
  for (const match of text.matchAll(/(?:"(?:[^"\\]|\\.)*"?|[^\s"])+/g))
    found.push({ start: match.index, end: match.index + match[0].length, text: match[0] });
  return found;
}

/** A name as the filter reads it: quoted where it has spaces or signs. */
export function nameOf(name: string): string {
  return PLAIN.test(name) ? name : quoted(name);
}

/** A parameter's name as the filter reads it, also where a column has the same. */
export function paramName(name: string): string {
  return nameOf(name in FIELDS || name.includes(".") ? `params.${name}` : name);
}

/** A value as the filter reads it: text that looks like something else is quoted. */
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

/** The filter with its plain terms on `name` (as `nameOf` or `paramName` writes it) replaced by `term`; "": by none. */
export function withTerm(filter: string, name: string, term: string): string {
  const others = tokensOf(filter).filter(token => termName(token.text) !== name);
  return [...others.map(token => token.text), ...(term ? [term] : [])].join(" ");
}

/** The terms of a filter on one name. */
export function termsOn(filter: string, name: string): string[] {
  return tokensOf(filter).flatMap(token => (termName(token.text) === name ? [token.text] : []));
}

/** What may stand at the cursor; each replaces `start` to `end` of the text. */
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
    ...known.objectives.map(name => ({ name: nameOf(name), hint: "what came out", colon: false })),
    ...Object.entries(FIELDS).map(([name, field]) => ({
      name,
      hint: field.hint,
      colon: field.values !== undefined || field.text === true,
    })),
    ...known.others.map(name => ({ name: nameOf(name), hint: "what it said of itself", colon: false })),
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
