// The list of sweeps: j and k move between rows, Enter opens one.

import { useRef } from "react";
import { Link } from "wouter";
import { BasketButton } from "../basket/basket-button";
import { formatDuration } from "../format";
import { useKeys } from "../keyboard";
import { SweepLabels } from "../organize/filter-links";
import { Star } from "../organize/star";
import { RelativeTime } from "../widgets/relative-time";
import { StateBadge } from "../widgets/state-badge";
import { BestValue } from "./best-value";
import { afterText } from "./predecessors-and-successors";
import { SweepProgress } from "./progress";
import { reasonText, waitText } from "./state-reason";
import { budgetLines, durationS, ENDED_STATES, formatEstimate, type Sweep } from "./sweep";
import "./sweeps-table.css";

export function SweepsTable({ sweeps }: { sweeps: Sweep[] }) {
  const body = useRef<HTMLTableSectionElement>(null);
  const step = (by: number) => {
    const links = [...(body.current?.querySelectorAll<HTMLAnchorElement>("a.sweeps-name") ?? [])];
    const current = links.indexOf(document.activeElement as HTMLAnchorElement);
    links[Math.min(links.length - 1, Math.max(0, current + by))]?.focus();
  };
  useKeys("Sweeps", {
    j: { does: "next sweep (Enter opens it)", run: () => step(1) },
    k: { does: "previous sweep", run: () => step(-1) },
  });
  return (
    <table className="sweeps-table">
      <thead>
        <tr>
          <th scope="col">Sweep</th>
          <th scope="col">State</th>
          <th scope="col">Trials</th>
          <th scope="col">Best so far</th>
          <th scope="col" className="sweeps-wide">
            Time
          </th>
          <th scope="col" className="sweeps-wide">
            Budget left
          </th>
          <th scope="col" className="sweeps-wide">
            Devices
          </th>
          <th scope="col" className="sweeps-wider">
            Submitted
          </th>
        </tr>
      </thead>
      <tbody ref={body}>
        {sweeps.map(sweep => (
          <Row key={sweep.id} sweep={sweep} />
        ))}
      </tbody>
    </table>
  );
}

function Row({ sweep }: { sweep: Sweep }) {
  const why = sweep.state === "running" ? waitText(sweep) : reasonText(sweep);
  return (
    <tr>
      <td className="sweeps-first">
        <span className="sweeps-marks">
          <Star sweep={sweep} />
          <BasketButton kind="sweeps" id={sweep.id} name={sweep.name} iconOnly />
        </span>
        <Link href={`/sweeps/${sweep.id}`} className="sweeps-name">
          {sweep.name}
        </Link>
        <span className="sweeps-id">
          Sweep {sweep.id}
          {afterText(sweep) && `, ${afterText(sweep)}`}
        </span>
        <SweepLabels sweep={sweep} />
      </td>
      <td className="sweeps-why">
        <StateBadge state={sweep.state} />
        {why && (
          <span className="sweeps-reason" title={why}>
            {why}
          </span>
        )}
        {sweep.warnings.map(warning => (
          <span key={warning.code} className="sweeps-reason" title={warning.message}>
            Warning: {warning.message}
          </span>
        ))}
      </td>
      <td>
        <SweepProgress sweep={sweep} />
      </td>
      <td>
        <BestValue sweep={sweep} />
      </td>
      <td className="sweeps-wide">
        <TimeText sweep={sweep} />
      </td>
      <td className="sweeps-wide">
        <BudgetText sweep={sweep} />
      </td>
      <td className="sweeps-wide">
        <DevicesText sweep={sweep} />
      </td>
      <td className="sweeps-wider">
        <RelativeTime time={sweep.created_at} />
      </td>
    </tr>
  );
}

function TimeText({ sweep }: { sweep: Sweep }) {
  if (sweep.eta_s !== null) {
    return (
      <span title="Upper bound at the speed of the last trials: a plateau or a target may end the sweep sooner">
        about {formatEstimate(sweep.eta_s)} left
      </span>
    );
  }
  const seconds = durationS(sweep);
  if (seconds === null) return <Nothing />;
  return ENDED_STATES.includes(sweep.state) ? (
    <>took {formatDuration(seconds)}</>
  ) : (
    <>{formatDuration(seconds)} so far</>
  );
}

function BudgetText({ sweep }: { sweep: Sweep }) {
  const lines = budgetLines(sweep);
  if (lines.length === 0) return <Nothing />;
  return lines.map(line => (
    <span key={line.name} className="sweeps-line" title={line.title}>
      {line.name}: {line.left}
    </span>
  ));
}

function DevicesText({ sweep }: { sweep: Sweep }) {
  if (sweep.devices.length === 0) return <Nothing />;
  const [first, ...others] = sweep.devices;
  return (
    <span title={sweep.devices.join(", ")}>
      {others.length > 1 ? `${sweep.devices.length} in use` : [first, ...others].join(", ")}
    </span>
  );
}

function Nothing() {
  return <span className="sweeps-none">–</span>;
}
