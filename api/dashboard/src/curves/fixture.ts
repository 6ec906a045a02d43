// A response of the grid of curves, for tests.
import type { Grid, PanelData } from "./batch-panel-requests";
import { type Settings, settingsOf } from "./settings";

const PANEL: PanelData = { name: "loss", goal: "minimize", lines: [], bands: [], marks: [], without_x: 0 };

export function panelFixture(changes: Partial<PanelData> = {}): PanelData {
  return { ...PANEL, ...changes };
}

/** Trials 0, 1, … in these states, each with a line in the panel. */
export function gridFixture(states: string[], changes: Partial<Grid> = {}): Grid {
  const trials = states.map((state, number) => ({ id: 100 + number, number, state, group: 0 }));
  const lines = trials.map((_, trial) => ({ trial, points: 3, x: [0, 10, 20], y: [3, 2 + trial, 1 + trial] }));
  const panels = [panelFixture({ lines })];
  return { x: "step", matching: states.length, max_points: 800, groups: ["all trials"], trials, panels, ...changes };
}

export function settingsFixture(search = ""): Settings {
  return settingsOf(search);
}
