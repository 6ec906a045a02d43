// The meaning of the colours of a ramp. Pure.
import type { Axis } from "./axis";

export function rampText({ goal }: Axis): string {
  return goal ? "worst to best by rank" : "high to low by rank";
}
