// Devices as the service tells of them.
import type { Schemas } from "../api";

export type Device = Schemas["DeviceView"];

/** Why it takes no trials, if somebody or the scheduler set it aside. */
export function isAside(device: Device): boolean {
  return device.state === "set aside";
}

/** "CPU slot 0", and which machine it is on where there are several; Ray's names of machines are long. */
export function placeOf(device: Device, all: readonly Device[]): string {
  const place = `${kindName(device.kind)} ${device.position}`;
  const several = all.some(other => other.node !== device.node);
  return several ? `${place} on ${device.node.slice(0, 8)}` : place;
}

export function kindName(kind: string): string {
  return kind === "gpu" ? "GPU" : kind === "cpu" ? "CPU slot" : kind;
}
