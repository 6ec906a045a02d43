// The machines of the service: the head and the nodes that have joined, each with its devices.
import type { Schemas } from "../api";
import { formatBytes, formatDuration } from "../format";
import { StateBadge } from "../widgets/state-badge";
import type { Device } from "./device";

export type Node = Schemas["NodeView"];
export type Machine = { name: string; node: Node | null; devices: Device[] }; // `node` is null for the head

export const HEAD = "head";
const MAX_CLOCK_OFFSET_S = 1;

/** The machines with devices, and the nodes that have joined without any; the head first, then by name. */
export function machinesOf(devices: readonly Device[], nodes: readonly Node[]): Machine[] {
  const names = new Set([...devices.map(device => nodeOf(device.id)), ...nodes.map(node => node.name)]);
  return [...names].sort().map(name => ({
    name: name || HEAD,
    node: nodes.find(node => node.name === name) ?? null,
    devices: devices.filter(device => nodeOf(device.id) === name),
  }));
}

/** "b" of the device "b:gpu-3"; "" for the head. */
function nodeOf(deviceId: string): string {
  return deviceId.slice(0, Math.max(0, deviceId.lastIndexOf(":")));
}

type Props = { machine: Machine; now: number; columns: number };

/** A row above the devices of a machine: its name, and the state of a node with what an admin should know. */
export function NodeHeading({ machine: { name, node }, now, columns }: Props) {
  return (
    <tr className="devices-node">
      <th scope="rowgroup" colSpan={columns}>
        <span className="devices-node-line">
          {name}
          {node && <NodeFacts node={node} now={now} />}
        </span>
      </th>
    </tr>
  );
}

function NodeFacts({ node, now }: { node: Node; now: number }) {
  if (node.state === "refused") {
    return (
      <>
        <StateBadge state={node.state} />
        <span className="devices-fact">{node.address}</span>
        <span className="devices-warning">{node.refused}</span>
      </>
    );
  }
  const silentS = Math.max(0, now - Date.parse(node.reported_at) / 1000);
  const offsetS = node.clock_offset_s;
  return (
    <>
      <StateBadge state={node.state} />
      <span className="devices-fact">{node.address}</span>
      <span className="devices-fact">{formatBytes(node.disk_free_bytes)} free</span>
      {node.state === "silent" && <span className="devices-warning">no report for {formatDuration(silentS)}</span>}
      {Math.abs(offsetS) > MAX_CLOCK_OFFSET_S && (
        <span className="devices-warning">
          clock {formatDuration(Math.abs(offsetS))} {offsetS > 0 ? "ahead" : "behind"}
        </span>
      )}
    </>
  );
}
