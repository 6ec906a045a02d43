// Requests the panels of the charts in view together: charts that appear at the same time share a request.
import { api, done, type Schemas } from "../api";

export type Grid = Schemas["CurveGridView"];
export type PanelData = Schemas["PanelView"];
export type Loaded = { grid: Grid; panel: PanelData };

export type GridParams = {
  filter: string;
  x: string;
  x_min?: number;
  x_max?: number;
  x_scale: "linear" | "log";
  max_points: number;
  limit: number;
  group?: string;
  show: "lines" | "bands";
};

type Waiting = { metric: string; resolve: (loaded: Loaded) => void; reject: (error: unknown) => void };

const TOGETHER_MS = 15;
const MAX_VALUES = 20_000; // points of a response; with more curves, each has fewer
const LEAST_POINTS = 400; // of a curve: fewer metrics share a request rather than fewer points
const MOST = 20; // metrics
const waiting = new Map<string, Waiting[]>();

export function loadPanel(sweepId: number, params: GridParams, metric: string): Promise<Loaded> {
  const key = JSON.stringify([sweepId, params]);
  return new Promise((resolve, reject) => {
    const one = { metric, resolve, reject };
    const before = waiting.get(key);
    if (before) {
      before.push(one);
      return;
    }
    waiting.set(key, [one]);
    setTimeout(() => {
      const all = waiting.get(key) ?? [];
      waiting.delete(key);
      const most = metricsPerRequest(params);
      for (let start = 0; start < all.length; start += most) void send(sweepId, params, all.slice(start, start + most));
    }, TOGETHER_MS);
  });
}

export function metricsPerRequest({ show, limit, max_points }: GridParams): number {
  const curves = show === "bands" ? 12 : limit;
  const most = Math.floor(MAX_VALUES / (curves * Math.min(max_points, LEAST_POINTS)));
  return Math.max(1, Math.min(MOST, most));
}

async function send(sweepId: number, params: GridParams, wanted: readonly Waiting[]): Promise<void> {
  try {
    const metric = [...new Set(wanted.map(one => one.metric))];
    const query = { ...params, metric };
    const path = { sweep_id: sweepId };
    const grid = await done(api.GET("/api/v1/sweeps/{sweep_id}/curve-grid", { params: { path, query } }));
    for (const one of wanted) {
      const panel = grid.panels.find(each => each.name === one.metric);
      if (panel) one.resolve({ grid, panel });
      else one.reject(new Error(`The service did not answer for ${one.metric}.`));
    }
  } catch (error) {
    for (const one of wanted) one.reject(error);
  }
}
