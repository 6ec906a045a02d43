// Between a form's fields and a sweep file: what stands at a key, and how what was typed is written as YAML.

export type Document = Record<string, unknown>;
export type Numbers = Record<string, string>;
export type Path = readonly string[];
export type Kind = "text" | "number" | "list" | "yaml" | "value";

const NUMBER = /^[-+]?(\d[\d_]*\.?\d*|\.\d+)([eE][-+]?\d+)?$/;
const SAFE = /^[A-Za-z_][\w./-]*$/;
const PLAIN = /^(true|false|null|".*"|'.*')$/;
// JSON has these as they are; YAML does not print them, or takes them for the end of a line.
const UNSEEN = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g;
const WORDS = /^(true|false|null|yes|no|on|off|y|n)$/i;

export function valueAt(document: unknown, path: Path): unknown {
  let here: unknown = document;
  for (const key of path) {
    if (typeof here !== "object" || here === null) return undefined;
    here = (here as Document)[key];
  }
  return here;
}

/** The list that stands at a key; empty where there is none. */
export function listAt(document: unknown, path: Path): unknown[] {
  const found = valueAt(document, path);
  return Array.isArray(found) ? found : [];
}

/** The keys of the block that stands there. */
export function keysAt(document: unknown, path: Path): string[] {
  const found = valueAt(document, path);
  return typeof found === "object" && found !== null && !Array.isArray(found) ? Object.keys(found) : [];
}

function pointerOf(path: Path): string {
  return path.map(key => `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** What a field shows of a key: numbers as they are written in the file (1.0 is not 1 there), lists without brackets. */
export function shownAt(document: unknown, numbers: Numbers, path: Path): string {
  const value = valueAt(document, path);
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return value;
  if (Array.isArray(value))
    return value.map((_, place) => flow(value[place], numbers, [...path, String(place)])).join(", ");
  return flow(value, numbers, path);
}

/** A value on one line of YAML. */
export function flow(value: unknown, numbers: Numbers, path: Path): string {
  if (typeof value === "number") return numbers[pointerOf(path)] ?? String(value);
  if (typeof value === "string") return quoted(value);
  if (Array.isArray(value))
    return `[${value.map((item, at) => flow(item, numbers, [...path, String(at)])).join(", ")}]`;
  if (typeof value === "object" && value !== null) {
    const parts = Object.entries(value).map(([key, item]) => `${quoted(key)}: ${flow(item, numbers, [...path, key])}`);
    return `{${parts.join(", ")}}`;
  }
  return String(value);
}

/** What was typed into a field, as YAML; null where nothing was, which takes the key out. */
export function typedYaml(kind: Kind, typed: string): string | null {
  const text = typed.trim();
  if (text === "") return null;
  if (kind === "yaml") return text;
  if (kind === "list") return text.startsWith("[") ? text : `[${text}]`;
  if (kind === "value" && PLAIN.test(text)) return text;
  return kind !== "text" && NUMBER.test(text) ? text : quoted(text);
}

/** A text in YAML, quoted only where it would be read as something else. */
export function quoted(text: string): string {
  return SAFE.test(text) && !WORDS.test(text) ? text : JSON.stringify(text).replace(UNSEEN, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
