// The query keys of the cache; live messages invalidate by prefix.

export const keys = {
  session: ["session"] as const,
  sweeps: (...what: unknown[]) => ["sweeps", ...what] as const,
  sweep: (id: number, ...what: unknown[]) => ["sweep", id, ...what] as const,
  // Not below ["sweep", id]: thousands of points are refetched less often than the rest.
  charts: (id: number, ...what: unknown[]) => ["charts", id, ...what] as const,
  trial: (id: number, ...what: unknown[]) => ["trial", id, ...what] as const,
  trialNames: (names: readonly string[]) => ["trial-names", ...names] as const,
  numbered: (sweepId: number, number: number) => ["numbered", sweepId, number] as const,
  devices: (...what: unknown[]) => ["devices", ...what] as const,
  views: (project: string) => ["views", project] as const,
  search: (words: string) => ["search", words] as const,
  compared: (...what: unknown[]) => ["compared", ...what] as const,
  ensembles: (...what: unknown[]) => ["ensembles", ...what] as const,
  ensemble: (id: number, ...what: unknown[]) => ["ensemble", id, ...what] as const,
};
