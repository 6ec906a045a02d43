// The sweep file's JSON Schema as forms use it: the keys of each block with their types, defaults and descriptions.
import { useQuery } from "@tanstack/react-query";
import { errorFrom } from "../api";
import type { Kind } from "./yaml-values";

type Node = {
  $ref?: string;
  $defs?: Record<string, Node>;
  anyOf?: Node[];
  oneOf?: Node[];
  properties?: Record<string, Node>;
  type?: string;
  enum?: unknown[];
  const?: unknown;
  enumDescriptions?: string[];
  default?: unknown;
  description?: string;
};

export type Choice = { value: string; hint: string };
export type KeySpec = {
  key: string;
  kind: Kind | "choice" | "flag";
  choices: Choice[];
  defaultText: string;
  hint: string;
};
export type BlockSpec = { hint: string; keys: KeySpec[] };

export function useSweepSchema() {
  return useQuery({
    queryKey: ["sweep-schema"],
    queryFn: async ({ signal }) => {
      const answer = await fetch("/schemas/sweep-v1.json", { signal });
      if (!answer.ok) throw errorFrom(answer.status, null);
      return (await answer.json()) as Node;
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
}

function resolved(root: Node, node: Node): Node {
  const rest = { ...node };
  if (node.$ref) {
    const name = node.$ref.slice(node.$ref.lastIndexOf("/") + 1);
    return { ...(root.$defs?.[name] ?? {}), ...rest, $ref: undefined };
  }
  const named = node.oneOf?.find(each => each.enum); // a name or a block: forms offer the names
  if (named) return { ...named, ...rest, oneOf: undefined };
  const real = node.anyOf?.filter(each => each.type !== "null");
  if (real && real.length === 1 && real[0]) return { ...resolved(root, real[0]), ...rest, anyOf: undefined };
  return rest;
}

/** The keys of a block, or the top-level keys for "". */
export function blockSpec(root: Node, block: string): BlockSpec {
  const node = block === "" ? root : resolved(root, root.properties?.[block] ?? {});
  const keys = Object.entries(node.properties ?? {}).map(([key, inner]) => keySpec(root, key, inner));
  return { hint: withoutCode(node.description), keys };
}

export type MethodSpec = { title: string; hint: string; keys: (KeySpec & { path: string[] })[] };

/** The keys of a search method that is a block with this type, those of inner blocks among them; undefined: unknown. */
export function methodSpec(root: Node, type: string): MethodSpec | undefined {
  const blocks = (root.properties?.method?.oneOf ?? []).map(each => resolved(root, each));
  const found = blocks.find(each => each.properties?.type?.const === type);
  const title = withoutCode(found?.properties?.type?.description);
  return found && { title, hint: withoutCode(found.description), keys: keysWithin(root, found, []) };
}

function keysWithin(root: Node, node: Node, above: string[]): (KeySpec & { path: string[] })[] {
  return Object.entries(node.properties ?? {}).flatMap(([key, inner]) => {
    const path = [...above, key];
    const block = resolved(root, inner);
    if (block.properties) return keysWithin(root, block, path);
    return inner.const === undefined ? [{ ...keySpec(root, key, inner), key: path.join("_"), path }] : [];
  });
}

function keySpec(root: Node, key: string, node: Node): KeySpec {
  const { type, enum: choices, enumDescriptions, default: defaultText, description, anyOf } = resolved(root, node);
  const numeric = anyOf?.some(each => each.type === "number" || each.type === "integer");
  const kind: KeySpec["kind"] = choices
    ? "choice"
    : type === "boolean"
      ? "flag"
      : type === "number" || type === "integer" || numeric
        ? "number"
        : type === "array"
          ? "list"
          : type === "string"
            ? "text"
            : "yaml";
  return {
    key,
    kind,
    choices: (choices ?? []).map((each, at) => ({ value: String(each), hint: withoutCode(enumDescriptions?.[at]) })),
    defaultText: defaultTextOf(defaultText),
    hint: withoutCode(description),
  };
}

function withoutCode(text = ""): string {
  return text.replaceAll("`", "");
}

/** The options of a select: the name of each choice, with the first clause of its description. */
export function optionsOf(choices: readonly Choice[]): [value: string, name: string][] {
  return choices.map(({ value, hint }) => [
    value,
    hint === "" ? value.replaceAll("_", " ") : `${value}: ${hint.split("; ")[0]}`,
  ]);
}

/** The description of a choice after its first clause, as a sentence; "" if there is none. */
export function detailOf(choices: readonly Choice[], value: string): string {
  const [, ...rest] = choices.find(each => each.value === value)?.hint.split("; ") ?? [];
  const detail = rest.join("; ");
  return detail.charAt(0).toUpperCase() + detail.slice(1);
}

function defaultTextOf(defaultText: unknown): string {
  if (defaultText === null || defaultText === undefined) return "";
  if (Array.isArray(defaultText)) return defaultText.join(", ");
  return typeof defaultText === "object" ? "" : String(defaultText);
}

const UNITS: [RegExp, string][] = [
  [/_s$/, ", in seconds"],
  [/_ms$/, ", in ms"],
  [/_mb$/, ", in MB"],
];
const LABELS: Record<string, string> = {
  k: "Members",
  eta: "Reduction factor (eta)",
  s: "Number of brackets",
  type: "Rule",
  min_iter: "Minimum step",
  max_iter: "Maximum step",
  min_trials: "Minimum trials",
  min_delta: "Minimum improvement",
  wrap: "Wrapped rule",
  select: "Selection",
  combine: "Combination rule",
  fit_on: "Fit on",
  run_cap: "Trials",
  bags: "Bagging rounds",
};

/** The label of a key in a form. */
export function labelOf(key: string): string {
  const known = LABELS[key];
  if (known) return known;
  const unit = UNITS.find(([end]) => end.test(key));
  const words = (unit ? key.replace(unit[0], "") : key).replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1) + (unit?.[1] ?? "");
}
