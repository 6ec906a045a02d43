// What an address needs: its parts, and the requests of its first view. Pure.
import { chosenFigures } from "../trials/chosen-columns";
import { BEST_FIRST, windowQuery } from "../trials/table-query";
import type { PartName } from "./parts";

export type Needs = { parts: readonly PartName[]; requests: readonly string[] };

const NOTHING: Needs = { parts: [], requests: [] };
const TABS: Record<string, readonly PartName[]> = {
  table: [],
  failures: ["failuresTab"],
  curves: ["curvesTab", "curveGrid"],
  analysis: ["analysisTab"],
  devices: ["devicesTab"],
  ensemble: ["ensembleTab"],
  configuration: ["configurationTab"],
};
const PAGES: Record<string, readonly PartName[]> = {
  "/new": ["newSweep"],
  "/ensembles": ["ensembles"],
  "/compare": ["compareSweeps"],
  "/devices": ["devices"],
};

/** Of a page's path and query; nothing for pages that are not parts, and for addresses without a page. */
export function needsOf(path: string, search: string): Needs {
  const [, sweep, tab] = /^\/sweeps\/([1-9]\d{0,14})(?:\/(\w+))?$/.exec(path) ?? [];
  if (sweep !== undefined && tab === "compare") return { parts: ["compare"], requests: [] };
  if (sweep !== undefined) return ofSweep(Number(sweep), tab ?? "table", search);
  if (/^\/(?:sweeps\/\d+\/)?trials\/\d+$/.test(path)) return { parts: ["trial"], requests: [] };
  if (/^\/ensembles\/\d+$/.test(path)) return { parts: ["ensemble"], requests: [] };
  return { ...NOTHING, parts: PAGES[path] ?? [] };
}

function ofSweep(sweepId: number, tab: string, search: string): Needs {
  const parts: PartName[] = ["sweep", ...(Object.hasOwn(TABS, tab) ? (TABS[tab] ?? []) : [])];
  const requests = ["/api/v1/session", `/api/v1/sweeps/${sweepId}`];
  if (tab === "table") requests.push(firstRows(sweepId, new URLSearchParams(search)));
  return { parts, requests };
}

function firstRows(sweepId: number, shown: URLSearchParams): string {
  const query = windowQuery(
    {
      filter: shown.get("filter") ?? "",
      sort: shown.get("sort") ?? BEST_FIRST,
      figures: chosenFigures(shown.get("columns") ?? "", sweepId),
    },
    0,
  );
  const sent = new URLSearchParams();
  for (const [key, value] of Object.entries(query))
    for (const each of Array.isArray(value) ? value : [value]) if (each !== undefined) sent.append(key, String(each));
  return `/api/v1/sweeps/${sweepId}/table?${sent}`;
}
