// The settings of the grid of curves, which live in the URL.
import { useMemo } from "react";
import { useSearch } from "wouter";
import { setQuery } from "../url-query-state";

export type Range = { from: number; to: number };

export type Settings = {
  x: string; // step, time, runtime or metric:NAME
  range: Range | null; // the part of the x axis that is shown in every chart
  smooth: number; // weight of the moving average, 0 to 1
  logX: boolean;
  logY: boolean;
  color: string; // "" (by the number of trials), trial, result, state, tag or params.NAME
  bands: boolean; // mean, minimum and maximum per group, instead of a line per trial
  count: number; // trials
  find: string;
  closed: ReadonlySet<string>; // prefix groups that are collapsed
  whole: ReadonlySet<string>; // prefix groups of which all charts are shown
  hidden: ReadonlySet<string>; // keys of the legend
  only: string; // the key of the legend that is shown alone; "" for all
  wide: string; // the metric that is shown in the full width
};

export const COUNTS = [20, 50, 100, 300];
export const BAND_COUNT = 1_000;
export const SMOOTHEST = 0.99;
export const DEFAULT_COUNT = 50;

export function useSettings(): Settings {
  const search = useSearch();
  return useMemo(() => settingsOf(search), [search]);
}

export function settingsOf(search: string): Settings {
  const query = new URLSearchParams(search);
  const text = (key: string) => query.get(key) ?? "";
  const count = Number(text("curves"));
  const log = text("log") === "1" ? "y" : text("log");
  return {
    x: /^(time|runtime|metric:.+)$/.test(text("x")) ? text("x") : "step",
    range: rangeOf(text("from"), text("to")),
    smooth: Math.min(SMOOTHEST, Math.max(0, Number(text("smooth")) || 0)),
    logX: log.includes("x"),
    logY: log.includes("y"),
    color: text("color"),
    bands: text("show") === "bands",
    count: COUNTS.includes(count) ? count : DEFAULT_COUNT,
    find: text("find"),
    closed: listOf(text("closed")),
    whole: listOf(text("whole")),
    hidden: listOf(text("hide")),
    only: text("only"),
    wide: text("wide"),
  };
}

function rangeOf(from: string, to: string): Range | null {
  const range = { from: Number(from), to: Number(to) };
  return from !== "" && to !== "" && range.to > range.from && Number.isFinite(range.to - range.from) ? range : null;
}

/** Names as one value of the query; a name may contain commas. */
function listOf(text: string): ReadonlySet<string> {
  return new Set(text.split(",").filter(Boolean).map(decodeName));
}

function decodeName(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // written by hand
  }
}

/** Adds a name to a list in the URL, or removes it. */
export function toggleIn(key: "closed" | "whole" | "hide", names: ReadonlySet<string>, name: string): void {
  const next = new Set(names);
  if (!next.delete(name)) next.add(name);
  setQuery({ [key]: [...next].map(encodeURIComponent).join(",") });
}

export function setRange(range: Range | null): void {
  const digits = (value: number) => String(Number(value.toPrecision(12)));
  setQuery({ from: range ? digits(range.from) : "", to: range ? digits(range.to) : "" });
}

/** The name of the x axis in axes and tooltips. */
export function nameOfX(x: string): string {
  if (x === "runtime") return "running time";
  return x.startsWith("metric:") ? x.slice("metric:".length) : x;
}
