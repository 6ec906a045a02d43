// The current state of each device: its reason, trial, ensemble members, and utilization.
import { Link } from "wouter";
import { formatCount, formatDuration, formatShare, formatTime } from "../format";
import type { DeviceLine } from "../timeline/device-bars-and-gaps";
import { trialHref } from "../trials/trial-references";
import { StateBadge } from "../widgets/state-badge";
import { type Device, placeOf } from "./device";
import { DrainControls } from "./drain-controls";
import { HEAD, type Machine, NodeHeading } from "./nodes";
import "./devices.css";

type Props = {
  machines: readonly Machine[]; // with headings if there are nodes
  lines: ReadonlyMap<string, DeviceLine>; // by device, once the timeline has loaded
  range: string; // for example "the last hour"
  now: number;
  mayDrain: boolean;
};

export function DeviceTable({ machines, lines, range, now, mayDrain }: Props) {
  const grouped = machines.some(machine => machine.name !== HEAD);
  return (
    <table className="devices-table">
      <thead>
        <tr>
          <th scope="col">Device</th>
          <th scope="col">State</th>
          <th scope="col">Trial</th>
          <th scope="col">Ensemble members</th>
          <th scope="col">Busy {range}</th>
          {mayDrain && (
            <th scope="col">
              <span className="hidden-text">Drain or return</span>
            </th>
          )}
        </tr>
      </thead>
      {machines.map(machine => (
        <tbody key={machine.name}>
          {grouped && <NodeHeading machine={machine} now={now} columns={mayDrain ? 6 : 5} />}
          {machine.devices.map(device => (
            <tr key={device.id}>
              <th scope="row" className="devices-name">
                {device.id}
                <span className="devices-hint" title={identity(device)}>
                  {placeOf(device)}
                </span>
              </th>
              <td data-name="State">
                <div>
                  <State device={device} now={now} />
                </div>
              </td>
              <td data-name="Trial">
                <div>
                  <Running device={device} now={now} />
                </div>
              </td>
              <td data-name="Ensemble members">
                <Members device={device} />
              </td>
              <td data-name={`Busy ${range}`}>
                <div>
                  <Busy line={lines.get(device.id)} />
                </div>
              </td>
              {mayDrain && (
                <td className="devices-actions">
                  <DrainControls device={device} />
                </td>
              )}
            </tr>
          ))}
        </tbody>
      ))}
    </table>
  );
}

function identity({ node, uuid, slot_pid }: Device): string {
  return [`node ${node}`, uuid && `UUID ${uuid}`, slot_pid && `slot process ${slot_pid}`].filter(Boolean).join(", ");
}

function State({ device, now }: { device: Device; now: number }) {
  const idle = device.state === "ready" && device.running === null;
  const since = now - Date.parse(device.changed_at) / 1000;
  return (
    <>
      <StateBadge state={idle && device.reason !== "" ? "idle" : device.state} />
      {device.reason !== "" && (
        <span className="devices-hint" title={`since ${formatTime(device.changed_at)}`}>
          {device.reason} · for {formatDuration(Math.max(0, since))}
        </span>
      )}
    </>
  );
}

function Running({ device, now }: { device: Device; now: number }) {
  const { running } = device;
  if (!running) return <span className="devices-none">none</span>;
  const durationS = Math.max(0, now - Date.parse(running.started_at) / 1000);
  return (
    <>
      <Link href={trialHref(running.sweep_id, running.number)}>Trial {running.number}</Link> of{" "}
      <Link href={`/sweeps/${running.sweep_id}`}>{running.sweep_name}</Link>
      <span className="devices-hint">
        for {formatDuration(durationS)}
        {running.attempt > 1 && `, attempt ${running.attempt}`}
      </span>
    </>
  );
}

function Members({ device }: { device: Device }) {
  if (device.members.length === 0) return <span className="devices-none">none</span>;
  return (
    <ul className="devices-members">
      {device.members.map(member => (
        <li key={member.id}>
          <Link href={`/ensembles/${member.ensemble_id}`}>
            {member.ensemble_name}, trial {member.trial_number}
          </Link>
        </li>
      ))}
    </ul>
  );
}

function Busy({ line }: { line: DeviceLine | undefined }) {
  if (!line) return <span className="devices-none">–</span>;
  const share = line.busy_share ?? 0;
  return (
    <>
      <span className="devices-busy">
        <span className="devices-track" aria-hidden="true">
          <span className="devices-part" style={{ width: `${100 * share}%` }} />
        </span>
        {formatShare(line.busy_share, 0)}
      </span>
      <span className="devices-hint">
        {formatCount(line.attempts)} {line.attempts === 1 ? "trial" : "trials"}
        {line.failed > 0 && <span className="devices-failed">, {formatCount(line.failed)} failed</span>}
        {line.closed_s >= 1 && `, unavailable ${formatDuration(line.closed_s)}`}
      </span>
    </>
  );
}
