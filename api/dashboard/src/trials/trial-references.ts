// Trials by what people read: `/sweeps/3/trials/17` and `3.17` are trial 17 of sweep 3. Requests need their ids.
import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import { api, done, type Schemas } from "../api";
import { keys } from "../query-keys";
import { setQuery, useQueryState } from "../url-query-state";

export type TrialName = Schemas["TrialNameView"];

const NAME = /^(?:[1-9]\d{0,14}\.)?\d{1,15}$/; // an id, as in addresses of earlier versions, or SWEEP.NUMBER
const NONE: readonly TrialName[] = [];

export function trialHref(sweepId: number, number: number): string {
  return `/sweeps/${sweepId}/trials/${number}`;
}

/** `3.17` */
export function nameOf({ sweep_id, number }: Omit<TrialName, "id">): string {
  return `${sweep_id}.${number}`;
}

/** The names and ids in a text such as "3.17,4.2", each once. */
export function namesIn(text: string): string[] {
  return [...new Set(text.split(",").map(part => part.trim()))].filter(part => NAME.test(part));
}

export type NamedTrials = {
  trials: readonly TrialName[]; // in the order of the URL, without those that do not exist
  isLoading: boolean;
  error: Error | null;
};

/**
 * The trials that a key of the URL's query names. Ids are replaced by names, so that the address says what a person reads.
 * `known` trials need no request.
 */
export function useNamedTrials(key: string, known: readonly TrialName[] = NONE, most = 100): NamedTrials {
  const [text] = useQueryState(key);
  const names = useMemo(() => namesIn(text).slice(0, most), [text, most]);
  const unknown = useMemo(() => names.filter(name => find(known, name) === undefined), [names, known]);
  const query = useQuery({
    queryKey: keys.trialNames(unknown),
    queryFn: ({ signal }) => done(api.GET("/api/v1/trial-names", { params: { query: { trial: unknown } }, signal })),
    enabled: unknown.length > 0,
    staleTime: Number.POSITIVE_INFINITY, // a trial keeps its number
    placeholderData: before => before,
  });
  const pool = useMemo(() => [...known, ...(query.data ?? [])], [known, query.data]);
  const trials = useMemo(() => distinct(names.flatMap(name => find(pool, name) ?? [])), [names, pool]);
  const isLoading = unknown.some(name => find(pool, name) === undefined) && query.isFetching;
  const hasIds = !isLoading && names.some(name => !name.includes("."));
  const canonical = trials.map(nameOf).join();
  useEffect(() => {
    if (hasIds && canonical !== "") setQuery({ [key]: canonical });
  }, [hasIds, canonical, key]);
  return { trials, isLoading, error: trials.length < names.length ? query.error : null };
}

function find(trials: readonly TrialName[], name: string): TrialName | undefined {
  return trials.find(trial => (name.includes(".") ? nameOf(trial) : String(trial.id)) === name);
}

function distinct(trials: readonly TrialName[]): TrialName[] {
  return [...new Map(trials.map(trial => [trial.id, trial])).values()];
}
