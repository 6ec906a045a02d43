// View state in the URL's query, so that a reload or a shared link shows the same view.
import { useCallback } from "react";
import { useSearch } from "wouter";
import { navigate } from "wouter/use-browser-location";

/** One query key as state; `""` (or the default) removes it from the URL. Every change replaces the history entry. */
export function useQueryState(key: string, initial = ""): [string, (value: string) => void] {
  const value = new URLSearchParams(useSearch()).get(key) ?? initial;
  const set = useCallback((next: string) => setQuery({ [key]: next === initial ? "" : next }), [key, initial]);
  return [value, set];
}

/** Changes several query keys at once; `""` removes a key. */
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
