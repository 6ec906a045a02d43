// The reasons why devices were idle, added up over all of them. Pure.

import { type DeviceLine, isIdleTime, type Reason } from "./device-bars-and-gaps";
import { reasonText } from "./segment-text";

/** The reasons of all devices, the longest first. */
export function reasonsOfAll(lines: readonly DeviceLine[]): Reason[] {
  const all = new Map<string, Reason>();
  for (const { reasons } of lines)
    for (const one of reasons) {
      const key = `${reasonText(one)}/${isIdleTime(one.why)}`; // what is shown: two kinds may have the same text
      const known = all.get(key);
      all.set(key, {
        ...(known && known.total_s > one.total_s ? known : one),
        total_s: one.total_s + (known?.total_s ?? 0),
        gaps: one.gaps + (known?.gaps ?? 0),
      });
    }
  return [...all.values()].sort((one, other) => other.total_s - one.total_s);
}
