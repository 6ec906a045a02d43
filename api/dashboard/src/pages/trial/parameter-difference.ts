// Differences between the parameters of two trials: a factor on a log scale, else an amount.
import { formatNumber } from "../../format";

export type Scalar = string | number | boolean | null;
export type ParameterSpec = {
  min?: number;
  max?: number;
  values?: Scalar[];
  value?: Scalar;
  log?: boolean;
  distribution?: string;
};

/** The parameters in a sweep file, by name. */
export function parametersOf(spec: Record<string, unknown> | undefined): Record<string, ParameterSpec> {
  const found = spec?.parameters;
  return typeof found === "object" && found !== null ? (found as Record<string, ParameterSpec>) : {};
}

export function isLog(spec: ParameterSpec | undefined): boolean {
  return spec?.log === true || (spec?.distribution ?? "").includes("log");
}

export type Difference = { kind: "same" | "more" | "less" | "other" | "missing"; text: string };

/** The change from `theirs` to `mine`. */
export function difference(mine: Scalar | undefined, theirs: Scalar | undefined, logarithmic: boolean): Difference {
  if (mine === undefined || theirs === undefined) return { kind: "missing", text: "–" };
  if (mine === theirs) return { kind: "same", text: "same" };
  if (typeof mine !== "number" || typeof theirs !== "number") return { kind: "other", text: "differs" };
  const kind = mine > theirs ? "more" : "less";
  if (logarithmic && mine > 0 && theirs > 0) {
    const factor = mine / theirs;
    const text = `×${formatNumber(factor, 3)}`;
    return text === "×1" ? { kind: "same", text: "almost equal" } : { kind, text };
  }
  const amount = mine - theirs;
  return { kind, text: `${amount > 0 ? "+" : ""}${formatNumber(amount, 3)}` };
}
