// The result of parsing the sweep file: problems, notes, and a preview of the sweep.
import { formatCount, formatValue } from "../format";
import { trialsText } from "../sweep/sweep";
import { Panel } from "../widgets/panel";
import { Failure, Loading } from "../widgets/query-states";
import { Notes, Problems } from "./problems";
import type { Draft, Problem, Read } from "./sweep-file-draft";

type Props = { draft: Draft; id: string; onGo: (problem: Problem) => void };

export function SweepPreview({ draft, id, onGo }: Props) {
  const { read } = draft;
  return (
    <div id={id} className="new-outcome">
      {draft.failed && !read ? (
        <Failure error={draft.failed} />
      ) : read ? (
        <ParseResult read={read} onGo={onGo} />
      ) : (
        <Loading />
      )}
    </div>
  );
}

function ParseResult({ read, onGo }: { read: Read; onGo: (problem: Problem) => void }) {
  return (
    <>
      <Problems problems={read.problems} onGo={onGo} />
      <Notes notes={read.notes} />
      {read.plan && <Plan read={read} plan={read.plan} />}
    </>
  );
}

function Plan({ read, plan }: { read: Read; plan: NonNullable<Read["plan"]> }) {
  return (
    <Panel title="Preview">
      <ul className="new-plan">
        <li>
          <code>{plan.searched_by}</code> runs up to {trialsText(plan.run_cap)} of {spaceText(plan)}.
        </li>
        <li>{devicesText(plan.devices)}</li>
        {plan.data && <li>Data: {plan.data}.</li>}
        {plan.code && <li>Code: {plan.code}.</li>}
        {Object.entries(plan.terms).map(([key, text]) => (
          <li key={key}>
            {capital(key.replace("_", " "))}: {text}.
          </li>
        ))}
      </ul>
      {read.samples.length > 0 && <Samples samples={read.samples} />}
    </Panel>
  );
}

function spaceText(plan: NonNullable<Read["plan"]>): string {
  if (plan.space.length === 0) return "a define-by-run space";
  if (plan.grid_size !== null) return `${formatCount(plan.grid_size)} possible configurations`;
  return plan.space.length === 1 ? "a continuous space of 1 parameter" : `a space of ${plan.space.length} parameters`;
}

function devicesText({ count, usable, at_once: atOnce, kinds }: NonNullable<Read["plan"]>["devices"]): string {
  if (count === 0) return "The service has no devices yet; the sweep will wait for one.";
  const kind = kinds.join(" and ");
  if (atOnce === 0) return `None of the ${count} devices (${kind}) is available now; the sweep would wait.`;
  const out = usable < count ? `, of which ${usable} are available` : "";
  return `${trialsText(atOnce)} at a time, on ${count} ${kind} ${count === 1 ? "device" : "devices"}${out}.`;
}

function Samples({ samples }: { samples: Read["samples"] }) {
  const names = [...new Set(samples.flatMap(sample => Object.keys(sample)))];
  return (
    <div className="new-samples">
      <table>
        <caption>Three sample configurations</caption>
        <thead>
          <tr>
            {names.map(name => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {samples.map(sample => (
            <tr key={JSON.stringify(sample)}>
              {names.map(name => (
                <td key={name}>{name in sample ? formatValue(sample[name]) : ""}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
