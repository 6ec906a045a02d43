// Devices as the service describes them.
import type { Schemas } from "../api";

export type Device = Schemas["DeviceView"];

/** Why the device takes no trials, if it was drained by a user or by the scheduler. */
export function isDrained(device: Device): boolean {
  return device.state === "drained";
}

/** "CPU slot 0", with a shortened node name if there are several nodes; Ray's node names are long. */
export function placeOf(device: Device, all: readonly Device[]): string {
  const place = `${kindName(device.kind)} ${device.position}`;
  const several = all.some(other => other.node !== device.node);
  return several ? `${place} on ${device.node.slice(0, 8)}` : place;
}

export function kindName(kind: string): string {
  return kind === "gpu" ? "GPU" : kind === "cpu" ? "CPU slot" : kind;
}
