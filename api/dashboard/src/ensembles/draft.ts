// The draft of an ensemble on a sweep's page: stored in the URL, and converted to a request.
import { useMemo } from "react";
import { useSearch } from "wouter";
import type { Schemas } from "../api";
import { formatCount } from "../format";
import { nameOf } from "../trials/trial-references";
import { setQuery } from "../url-query-state";
import type { Ensemble } from "./ensemble-types-and-labels";

export type Request = Partial<Schemas["EnsembleRequest"]>;

/** Every URL key of a draft, with its default. */
const DEFAULTS = {
  choose: "",
  trials: "",
  k: "3",
  bags: "0",
  combine: "mean",
  calibrate: "",
  mode: "between_graph",
  quorum: "",
  deadline: "",
  replicas: "1",
  placement: "shared",
  devices: "1",
  precision: "float32",
  max_loss: "0.01",
};
export type Draft = typeof DEFAULTS;

const CLEARED = "none"; // in the URL: a field with a default that was cleared

export function draftOf(search: string): Draft {
  const query = new URLSearchParams(search);
  const found: Draft = { ...DEFAULTS };
  for (const key of Object.keys(DEFAULTS) as (keyof Draft)[]) {
    const given = query.get(key) ?? DEFAULTS[key];
    found[key] = given === CLEARED ? "" : given;
  }
  if (found.choose === "") found.choose = found.trials === "" ? "top_k" : "explicit";
  return found;
}

export function useDraft(): [Draft, (changes: Partial<Draft>) => void] {
  const search = useSearch();
  const draft = useMemo(() => draftOf(search), [search]);
  return [draft, changeDraft];
}

export function changeDraft(changes: Partial<Draft>): void {
  const entries = Object.entries(changes).map(([key, value]) => {
    if (value === DEFAULTS[key as keyof Draft]) return [key, ""];
    return [key, value === "" ? CLEARED : value];
  });
  setQuery(Object.fromEntries(entries));
}

/** The address of the builder with all settings of an ensemble, to build a new version of it. */
export function versionHref(ensemble: Ensemble): string {
  const { selection, members, quorum } = ensemble;
  const majority = Math.floor(members.length / 2) + 1;
  const explicit = selection.method === "explicit";
  const draft: Partial<Draft> = {
    choose: selection.method,
    trials: explicit ? members.map(member => nameOf({ ...member, number: member.trial_number })).join() : "",
    k: String(members.length),
    combine: ensemble.combine,
    calibrate: ensemble.temperature === 1 ? "" : "yes",
    mode: ensemble.mode,
    quorum: quorum === majority ? "" : String(quorum),
    deadline: String(ensemble.deadline_ms),
    replicas: String(members[0]?.replicas.length ?? 1),
    placement: ensemble.placement,
    devices: String(ensemble.devices),
    precision: precisionOf(ensemble),
    max_loss: String(ensemble.max_loss_increase),
  };
  const nonDefault = Object.entries(draft).filter(([key, value]) => value !== DEFAULTS[key as keyof Draft]);
  const query = new URLSearchParams({ version_of: String(ensemble.id), ...Object.fromEntries(nonDefault) });
  return `/sweeps/${ensemble.sweep_id ?? members[0]?.sweep_id}/ensemble?${query}`;
}

/** The requested precision; of several, that of each member. */
function precisionOf(ensemble: Ensemble): string {
  const requested = ensemble.members.map(member => member.precision.requested);
  return new Set(requested).size === 1 ? (requested[0] ?? DEFAULTS.precision) : requested.join();
}

export type Read = { request: Request | null; problems: Partial<Record<keyof Draft, string>> };

/** The request, or the problem of each invalid field. `ids`: those of the trials that the draft names; null: not known yet. */
export function read(draft: Draft, sweepId: number, ids: readonly number[] | null): Read {
  const problems: Read["problems"] = {};
  const integer = (key: keyof Draft, most: number, least = 1): number => {
    const value = Number(draft[key]);
    if (draft[key].trim() === "" || !Number.isInteger(value) || value < least || value > most) {
      problems[key] = `Must be an integer from ${least} to ${formatCount(most)}`;
    }
    return value;
  };
  const maxLoss = Number(draft.max_loss);
  if (draft.max_loss.trim() === "" || !(maxLoss >= 0 && maxLoss <= 10)) problems.max_loss = "Must be between 0 and 10";
  const request: Request = {
    combine: draft.combine as Request["combine"],
    calibrate: draft.calibrate === "yes",
    mode: draft.mode as Request["mode"],
    replicas: integer("replicas", 64),
    placement: draft.placement as Request["placement"],
    devices: integer("devices", 64),
    precision: (draft.precision.includes(",") ? draft.precision.split(",") : draft.precision) as Request["precision"],
    max_loss_increase: maxLoss,
  };
  if (draft.deadline !== "") {
    request.deadline_ms = Number(draft.deadline);
    if (!(request.deadline_ms >= 1)) problems.deadline = "Must be at least 1 ms";
  }
  if (draft.mode === "in_graph" && request.devices !== 1)
    problems.devices = "Must be 1 for one program for all members";
  if (draft.quorum !== "") request.quorum = integer("quorum", 1000);
  if (draft.choose === "explicit") {
    if (ids === null) return { request: null, problems };
    request.trial_ids = [...ids];
    if (request.trial_ids.length === 0) problems.trials = "Select at least one trial";
  } else {
    request.sweep_id = sweepId;
    request.select = draft.choose as Request["select"];
    request.k = integer("k", 1000);
    if (draft.choose === "greedy") request.bags = integer("bags", 100, 0);
  }
  return { request: Object.keys(problems).length > 0 ? null : request, problems };
}
