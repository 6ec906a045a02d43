// The terms of a filter: its parts, names and values as text, and terms that clicks set.
import { FIELDS } from "./filter-fields";

type Token = { start: number; end: number; text: string };

/** A term: name, operator and values. */
export const TERM = /^([a-z_]+\("(?:[^"\\]|\\.)*"\)|"(?:[^"\\]|\\.)*"|[^\s"<>=!:,]+)(<=|>=|!=|==|<|>|=|:)(.*)$/s;
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
