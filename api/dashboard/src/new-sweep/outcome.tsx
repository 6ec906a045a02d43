// What the sweep file comes to: its problems with their lines, notes, and what the sweep would do.
import { formatCount, formatValue } from "../format";
import { trialsText } from "../sweep/words";
import { Panel } from "../widgets/panel";
import { Failure, Loading } from "../widgets/states";
import type { Draft, Problem, Read } from "./draft";

type Props = { draft: Draft; id: string; onGo: (problem: Problem) => void };

export function Outcome({ draft, id, onGo }: Props) {
  const { read } = draft;
  return (
    <div id={id} className="new-outcome">
      {draft.failed && !read ? <Failure error={draft.failed} /> : read ? <Said read={read} onGo={onGo} /> : <Loading />}
    </div>
  );
}

function Said({ read, onGo }: { read: Read; onGo: (problem: Problem) => void }) {
  return (
    <>
      {read.problems.length > 0 && (
        <Panel title={read.problems.length === 1 ? "1 thing to mend" : `${read.problems.length} things to mend`}>
          <ul className="new-problems" role="status">
            {read.problems.map((problem, place) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: they have no other identity
              <li key={place}>
                <ProblemText problem={problem} onGo={onGo} />
              </li>
            ))}
          </ul>
        </Panel>
      )}
      {read.notes.length > 0 && (
        <Panel title="Notes">
          <ul className="new-notes">
            {read.notes.map(note => (
              <li key={note}>{note}</li>
            ))}
          </ul>
        </Panel>
      )}
      {read.plan && <Plan read={read} plan={read.plan} />}
    </>
  );
}

function ProblemText({ problem, onGo }: { problem: Problem; onGo: (problem: Problem) => void }) {
  const key = problem.path.join(".");
  return (
    <>
      {problem.line !== null && (
        <button type="button" className="new-line" onClick={() => onGo(problem)}>
          Line {problem.line}
        </button>
      )}
      <span>
        {key && <code>{key}</code>} {problem.message}
      </span>
    </>
  );
}

function Plan({ read, plan }: { read: Read; plan: NonNullable<Read["plan"]> }) {
  return (
    <Panel title="What it would do">
      <ul className="new-plan">
        <li>
          <code>{plan.searched_by}</code> tries up to {trialsText(plan.run_cap)} of {spaceText(plan)}.
        </li>
        <li>{devicesText(plan.devices)}</li>
        {plan.data && <li>Data: {plan.data}.</li>}
        {plan.code && <li>Code: {plan.code}.</li>}
        {Object.entries(plan.terms).map(([key, words]) => (
          <li key={key}>
            {capital(key.replace("_", " "))}: {words}.
          </li>
        ))}
      </ul>
      {read.samples.length > 0 && <Samples samples={read.samples} />}
    </Panel>
  );
}

function spaceText(plan: NonNullable<Read["plan"]>): string {
  if (plan.space.length === 0) return "what the program itself suggests";
  if (plan.grid_size !== null) return `${formatCount(plan.grid_size)} possible configurations`;
  return plan.space.length === 1 ? "a continuous space of 1 parameter" : `a space of ${plan.space.length} parameters`;
}

function devicesText({ count, usable, at_once: atOnce, kinds }: NonNullable<Read["plan"]>["devices"]): string {
  if (count === 0) return "The service has no devices yet; the sweep waits until it has.";
  const kind = kinds.join(" and ");
  if (atOnce === 0) return `None of the ${count} devices (${kind}) takes its trials now; it would wait.`;
  const out = usable < count ? `, ${usable} of which take trials` : "";
  return `${trialsText(atOnce)} at a time, on ${count} ${kind} ${count === 1 ? "device" : "devices"}${out}.`;
}

function Samples({ samples }: { samples: Read["samples"] }) {
  const names = [...new Set(samples.flatMap(sample => Object.keys(sample)))];
  return (
    <div className="new-samples">
      <table>
        <caption>Three configurations at random</caption>
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
