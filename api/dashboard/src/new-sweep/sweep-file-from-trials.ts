// A sweep file with the configurations of trials as seed configurations, to run them again with other code or settings.
import { api, done } from "../api";
import { flow } from "./yaml-values";

export const MOST_SEEDS = 200;

/** The file with the distinct configurations of the trials that match `filter`, in the order of their numbers. */
export async function withSeeds(file: string, sweepId: number, filter: string, signal?: AbortSignal): Promise<string> {
  if (filter === "") return file;
  const params = { path: { sweep_id: sweepId }, query: { filter, limit: MOST_SEEDS } };
  const { items } = await done(api.GET("/api/v1/sweeps/{sweep_id}/trials", { params, signal }));
  const seeds = [...new Set(items.map(({ params: configuration }) => flow(configuration, {}, [])))];
  if (seeds.length === 0) return file;
  const changes = [{ path: ["enqueue"], value: `[${seeds.join(", ")}]` }];
  return (await done(api.POST("/api/v1/sweep-files/write", { body: { text: file, changes }, signal }))).text;
}
