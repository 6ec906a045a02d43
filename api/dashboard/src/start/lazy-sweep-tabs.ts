// The tabs of a sweep, each loaded on first use.

export const TAB_PARTS = {
  curvesTab: () => import("../pages/sweep/curves-tab"),
  analysisTab: () => import("../pages/sweep/analysis-tab"),
  devicesTab: () => import("../pages/sweep/devices-tab"),
  ensembleTab: () => import("../pages/sweep/ensemble-tab"),
  configurationTab: () => import("../pages/sweep/configuration-tab"),
  failuresTab: () => import("../pages/sweep/failures-tab"),
};
