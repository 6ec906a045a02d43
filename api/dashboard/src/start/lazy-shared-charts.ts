// The charts that several pages have, loaded on first use.

export const CHART_PARTS = {
  curveGrid: () => import("../curves/grid"),
};
