// The view's state lives in the URL's query, so that a reload or a sent link shows the same view.
import { useCallback } from "react";
import { useSearch } from "wouter";
import { navigate } from "wouter/use-browser-location";

/** One key of the query as state; `""` (or the default) takes it out of the URL. Every change replaces the entry. */
export function useQueryState(key: string, initial = ""): [string, (value: string) => void] {
  const value = new URLSearchParams(useSearch()).get(key) ?? initial;
  const set = useCallback((next: string) => setQuery({ [key]: next === initial ? "" : next }), [key, initial]);
  return [value, set];
}

/** Change several keys of the query at once; `""` takes a key out. */
export function setQuery(changes: Record<string, string>): void {
  const query = new URLSearchParams(window.location.search);
  for (const [key, value] of Object.entries(changes)) {
    if (value === "") query.delete(key);
    else query.set(key, value);
  }
  navigate(withQuery(window.location.pathname, query), { replace: true });
}

export function withQuery(path: string, query: URLSearchParams): string {
  const text = query.toString();
  return text === "" ? path : `${path}?${text}`;
}
