// Devices as the service describes them.
import type { Schemas } from "../api";

export type Device = Schemas["DeviceView"];

/** Why the device takes no trials, if it was drained by a user or by the scheduler. */
export function isDrained(device: Device): boolean {
  return device.state === "drained";
}

/** "CPU slot 0" */
export function placeOf(device: Device): string {
  return `${kindName(device.kind)} ${device.position}`;
}

export function kindName(kind: string): string {
  return kind === "gpu" ? "GPU" : kind === "cpu" ? "CPU slot" : kind;
}
