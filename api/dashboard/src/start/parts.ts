// The parts that pages and tabs consist of, each loaded on first use. Imports none of them, so that the start script
// can load those of an address while the libraries load. A page takes its parts from one of the modules below this one.
import { CHART_PARTS } from "./lazy-shared-charts";
import { TAB_PARTS } from "./lazy-sweep-tabs";

export const PARTS = {
  sweep: () => import("../pages/sweep/page"),
  trial: () => import("../pages/trial"),
  compare: () => import("../pages/sweep/compare-page"),
  compareSweeps: () => import("../pages/compare/page"),
  newSweep: () => import("../pages/new-sweep"),
  ensembles: () => import("../pages/ensembles"),
  ensemble: () => import("../pages/ensemble"),
  devices: () => import("../pages/devices"),
  ...TAB_PARTS,
  ...CHART_PARTS,
};

export type PartName = keyof typeof PARTS;
