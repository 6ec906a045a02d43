// The parts that pages and tabs consist of, each loaded on first use. Imports none of them, so that the start script
// can load those of an address while the libraries load.

export const PARTS = {
  sweep: () => import("../pages/sweep/page"),
  trial: () => import("../pages/trial"),
  compare: () => import("../pages/sweep/compare-page"),
  compareSweeps: () => import("../pages/compare/page"),
  newSweep: () => import("../pages/new-sweep"),
  ensembles: () => import("../pages/ensembles"),
  ensemble: () => import("../pages/ensemble"),
  devices: () => import("../pages/devices"),
  curvesTab: () => import("../pages/sweep/curves-tab"),
  analysisTab: () => import("../pages/sweep/analysis-tab"),
  devicesTab: () => import("../pages/sweep/devices-tab"),
  ensembleTab: () => import("../pages/sweep/ensemble-tab"),
  configurationTab: () => import("../pages/sweep/configuration-tab"),
  failuresTab: () => import("../pages/sweep/failures-tab"),
  curveGrid: () => import("../curves/grid"),
};

export type PartName = keyof typeof PARTS;
