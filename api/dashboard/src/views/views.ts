// Saved views of the page of a sweep: the tab and the state in the URL, by name.
import { type QueryClient, useQuery } from "@tanstack/react-query";
import { api, done, type Schemas } from "../api";
import { keys } from "../query-keys";

export type SavedView = Schemas["SavedViewView"];
export type ViewTab = Schemas["ViewToSave"]["tab"];

const NAME = "view"; // the key of the URL that names the view
const PASSING = ["trials"]; // state that belongs to some trials, not to a view

export function useViews(project: string, enabled = true) {
  return useQuery({
    queryKey: keys.views(project),
    queryFn: ({ signal }) => done(api.GET("/api/v1/views", { params: { query: { project } }, signal })),
    enabled,
  });
}

/** The state of the page that a view keeps. */
export function stateOf(search: string): Record<string, string> {
  const query = new URLSearchParams(search);
  return Object.fromEntries([...query].filter(([key]) => key !== NAME && !PASSING.includes(key)));
}

export function nameIn(search: string): string {
  return new URLSearchParams(search).get(NAME) ?? "";
}

/** The address of a view of a sweep: it has the complete state, so that it works without the saved view, too. */
export function hrefOf(view: Pick<SavedView, "tab" | "query" | "name">, sweepId: number): string {
  return `/sweeps/${sweepId}/${view.tab}?${new URLSearchParams({ ...view.query, [NAME]: view.name })}`;
}

/** Whether the page shows the view unchanged. */
export function isShown(view: SavedView, tab: string, search: string): boolean {
  const [saved, shown] = [view.query, stateOf(search)];
  const same = Object.keys({ ...saved, ...shown }).every(key => (saved[key] ?? "") === (shown[key] ?? ""));
  return same && view.tab === tab;
}

export async function saveView(
  queries: QueryClient,
  view: { name: string; project: string; tab: ViewTab; query: Record<string, string> },
): Promise<SavedView> {
  const saved = await done(api.PUT("/api/v1/views", { body: view }));
  void queries.invalidateQueries({ queryKey: ["views"] });
  return saved;
}

export async function deleteView(queries: QueryClient, view: SavedView): Promise<void> {
  await done(api.DELETE("/api/v1/views/{view_id}", { params: { path: { view_id: view.id } } }));
  void queries.invalidateQueries({ queryKey: ["views"] });
}
