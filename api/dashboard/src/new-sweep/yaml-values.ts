// Conversion between form fields and the sweep file: reads values at paths, and formats typed text as YAML.

export type Document = Record<string, unknown>;
export type Numbers = Record<string, string>;
export type Path = readonly string[];
export type Kind = "text" | "number" | "list" | "yaml" | "value";

const NUMBER = /^[-+]?(\d[\d_]*\.?\d*|\.\d+)([eE][-+]?\d+)?$/;
const SAFE = /^[A-Za-z_][\w./-]*$/;
const PLAIN = /^(true|false|null|".*"|'.*')$/;
// JSON allows these characters; YAML rejects them or treats them as line breaks.
const UNPRINTABLE = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g;
const RESERVED = /^(true|false|null|yes|no|on|off|y|n)$/i;

export function valueAt(document: unknown, path: Path): unknown {
  let current: unknown = document;
  for (const key of path) {
    if (typeof current !== "object" || current === null) return undefined;
    current = (current as Document)[key];
  }
  return current;
}

/** The list at a path; empty if there is none. */
export function listAt(document: unknown, path: Path): unknown[] {
  const found = valueAt(document, path);
  return Array.isArray(found) ? found : [];
}

/** The keys of the mapping at a path. */
export function keysAt(document: unknown, path: Path): string[] {
  const found = valueAt(document, path);
  return typeof found === "object" && found !== null && !Array.isArray(found) ? Object.keys(found) : [];
}

function pointerOf(path: Path): string {
  return path.map(key => `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** The text of a field: numbers as written in the file (1.0 is not 1 there), lists without brackets. */
export function shownAt(document: unknown, numbers: Numbers, path: Path): string {
  const value = valueAt(document, path);
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return value;
  if (Array.isArray(value))
    return value.map((_, place) => flow(value[place], numbers, [...path, String(place)])).join(", ");
  return flow(value, numbers, path);
}

/** A value as one line of YAML. */
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

/** Typed text as YAML; null for empty text, which removes the key. */
export function typedYaml(kind: Kind, typed: string): string | null {
  const text = typed.trim();
  if (text === "") return null;
  if (kind === "yaml") return text;
  if (kind === "list") return text.startsWith("[") ? text : `[${text}]`;
  if (kind === "value" && PLAIN.test(text)) return text;
  return kind !== "text" && NUMBER.test(text) ? text : quoted(text);
}

/** A string in YAML, quoted only if it would otherwise have another type. */
export function quoted(text: string): string {
  return SAFE.test(text) && !RESERVED.test(text) ? text : JSON.stringify(text).replace(UNPRINTABLE, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
