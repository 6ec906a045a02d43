// The parameters of a trial compared with those of the best trial, or of the trial that it was cloned from.
import { Link } from "wouter";
import { formatValue } from "../../format";
import { nameOf, trialHref } from "../../trials/trial-references";
import { useQueryState } from "../../url-query-state";
import { ButtonLink } from "../../widgets/button";
import { Panel } from "../../widgets/panel";
import { difference, isLog, parametersOf, type Scalar } from "./parameter-difference";
import { type Sweep, type Trial, useTrial } from "./queries";

type Other = { name: string; sweepId: number; number: number; params: Record<string, Scalar> };

function bestOf(trial: Trial, sweep: Sweep | undefined): Other | null {
  const best = sweep?.best;
  if (!best || best.trial_id === trial.id) return null;
  return { name: `best (trial ${best.number})`, sweepId: trial.sweep_id, number: best.number, params: best.params };
}

function hintOf(trial: Trial, sweep: Sweep | undefined, other: Other | null): string {
  if (other) return `Compared with trial ${other.number}`;
  if (sweep?.best?.trial_id === trial.id) return "This is the best trial so far";
  return sweep?.best === null ? "No finished trial to compare with yet" : "";
}

function compareHref(trial: Trial, other: Other): string {
  const names = [nameOf(trial), nameOf({ sweep_id: other.sweepId, number: other.number })];
  return `/sweeps/${trial.sweep_id}/compare?trials=${names.join()}`;
}

export function Parameters({ trial, sweep }: { trial: Trial; sweep: Sweep | undefined }) {
  const [against, setAgainst] = useQueryState("against", "best");
  const parent = useTrialIfAny(trial.cloned_from);
  const origin: Other | null = parent && {
    name: `origin (trial ${parent.number})`,
    sweepId: parent.sweep_id,
    number: parent.number,
    params: parent.params,
  };
  const other = against === "origin" ? origin : bestOf(trial, sweep);
  const specs = parametersOf(sweep?.spec);
  const given = new Set([...Object.keys(trial.params), ...Object.keys(other?.params ?? {})]);
  const inFile = Object.keys(specs).filter(name => given.has(name)); // in file order, as in all views
  const names = [...new Set([...inFile, ...[...given].sort()])];
  return (
    <Panel
      title="Parameters"
      hint={hintOf(trial, sweep, other)}
      actions={
        <>
          {trial.cloned_from !== null && (
            <select aria-label="Compare with" value={against} onChange={event => setAgainst(event.target.value)}>
              <option value="best">Best trial</option>
              <option value="origin">Original trial</option>
            </select>
          )}
          {other && (
            <ButtonLink small href={compareHref(trial, other)}>
              Compare
            </ButtonLink>
          )}
        </>
      }
    >
      {names.length === 0 ? (
        <p className="trial-none">No parameters yet.</p>
      ) : (
        <div className="trial-scroll">
          <table className="trial-table">
            <thead>
              <tr>
                <th scope="col">Parameter</th>
                <th scope="col" className="trial-figure">
                  This trial
                </th>
                {other && (
                  <>
                    <th scope="col" className="trial-figure">
                      <Link href={trialHref(other.sweepId, other.number)}>
                        {other.name.replace(/^./, first => first.toUpperCase())}
                      </Link>
                    </th>
                    <th scope="col" className="trial-figure">
                      Difference
                    </th>
                  </>
                )}
              </tr>
            </thead>
            <tbody>
              {names.map(name => (
                <Row
                  key={name}
                  name={name}
                  mine={trial.params[name]}
                  theirs={other ? other.params[name] : null}
                  compared={other !== null}
                  logarithmic={isLog(specs[name])}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  );
}

function useTrialIfAny(trialId: number | null): Trial | null {
  const found = useTrial(trialId ?? 0, trialId !== null);
  return trialId === null ? null : (found.data ?? null);
}

type RowProps = {
  name: string;
  mine: Scalar | undefined;
  theirs: Scalar | undefined;
  compared: boolean;
  logarithmic: boolean;
};

function Row({ name, mine, theirs, compared, logarithmic }: RowProps) {
  const found = difference(mine, theirs, logarithmic);
  return (
    <tr>
      <th scope="row" className="mono">
        {name}
      </th>
      <td className="trial-figure mono" title={mine === undefined ? undefined : String(mine)}>
        {formatValue(mine)}
      </td>
      {compared && (
        <>
          <td className="trial-figure mono trial-theirs">{formatValue(theirs)}</td>
          <td className={`trial-figure trial-difference-${found.kind}`}>{found.text}</td>
        </>
      )}
    </tr>
  );
}
