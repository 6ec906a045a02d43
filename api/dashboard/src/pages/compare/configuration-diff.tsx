// The configurations of two sweeps as text: sweep file, code and versions, packages; line by line.
import { useMemo, useState } from "react";
import { asBlock, type Sweep } from "../../sweep/sweep";
import { Panel } from "../../widgets/panel";
import { Failure, Loading } from "../../widgets/query-states";
import { Select } from "../../widgets/select";
import { countChanges, type Line, lineDiff } from "./line-diff";
import { type Configuration, useConfigurations } from "./queries";

type Props = { sweeps: readonly { id: number; name: string }[] };

export function ConfigurationDiff({ sweeps }: Props) {
  const [chosen, setChosen] = useState<readonly [number?, number?]>([]);
  const ids = sweeps.map(sweep => sweep.id);
  const left = ids.includes(chosen[0] ?? 0) ? chosen[0] : ids[0];
  const right = ids.includes(chosen[1] ?? 0) ? chosen[1] : (ids.find(id => id !== left) ?? left);
  const answers = useConfigurations(left !== undefined && right !== undefined ? [left, right] : []);
  const options = sweeps.map(sweep => ({ value: String(sweep.id), name: `${sweep.name} (${sweep.id})` }));
  const failed = answers.find(answer => answer.isError);
  const [first, second] = answers.map(answer => answer.data);
  const actions = (
    <>
      <Select
        label="From"
        value={String(left)}
        options={options}
        onChange={value => setChosen([Number(value), right])}
      />
      <Select label="To" value={String(right)} options={options} onChange={value => setChosen([left, Number(value)])} />
    </>
  );
  return (
    <Panel title="Configuration" hint="What differs between two sweeps, line by line." actions={actions}>
      {failed ? (
        <Failure error={failed.error} onRetry={() => void failed.refetch()} />
      ) : first && second ? (
        <Sections left={first} right={second} />
      ) : (
        <Loading rows={6} what="Loading the configurations" />
      )}
    </Panel>
  );
}

function Sections({ left, right }: { left: Configuration; right: Configuration }) {
  return (
    <>
      <Section title="Sweep file" left={left.file} right={right.file} />
      <Section title="Code and versions" left={codeText(left.sweep)} right={codeText(right.sweep)} />
      <Section title="Packages" left={left.packages} right={right.packages} none="No list of packages is known." />
    </>
  );
}

type SectionProps = { title: string; left: string; right: string; none?: string };

function Section({ title, left, right, none }: SectionProps) {
  const lines = useMemo(() => lineDiff(left, right), [left, right]);
  const { added, removed } = countChanges(lines);
  const isEqual = added + removed === 0;
  const said = left === "" && right === "" && none ? none : isEqual ? "No differences." : "";
  return (
    <section className="diff" aria-label={`Differences: ${title}`}>
      <h3>
        {title}{" "}
        {!isEqual && (
          <span className="diff-counts">
            {removed} removed, {added} added
          </span>
        )}
      </h3>
      {said ? <p className="diff-none">{said}</p> : <Lines title={title} lines={lines} />}
    </section>
  );
}

const SIGNS = { same: " ", added: "+", removed: "-" };
const WORDS = { same: "", added: "added: ", removed: "removed: " };

function Lines({ title, lines }: { title: string; lines: readonly Line[] }) {
  return (
    <section
      className="diff-frame"
      aria-label={title}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: long text scrolls, also by keyboard
      tabIndex={0}
    >
      <table className="diff-lines">
        <tbody>
          {lines.map((line, at) =>
            line.kind === "folded" ? (
              // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other key
              <tr key={at} className="diff-folded">
                <td colSpan={4}>{`${line.lines} equal lines`}</td>
              </tr>
            ) : (
              // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other key
              <tr key={at} className={`diff-${line.kind}`}>
                <td className="diff-number">{line.left}</td>
                <td className="diff-number">{line.right}</td>
                <td aria-hidden="true">{SIGNS[line.kind]}</td>
                <td className="diff-text">
                  {WORDS[line.kind] && <span className="hidden-text">{WORDS[line.kind]}</span>}
                  {line.text}
                </td>
              </tr>
            ),
          )}
        </tbody>
      </table>
    </section>
  );
}

/** What the results depend on besides the file and the packages, one fact on a line. */
export function codeText(sweep: Sweep): string {
  const program = asBlock(sweep.spec.program);
  const { git_commit: commit, git_dirty: dirty } = sweep.provenance;
  const facts: [string, unknown][] = [
    ["code (SHA-256)", program.bundle ?? "none"],
    ["git commit", commit ?? "unknown"],
    ["uncommitted changes", dirty === null ? "unknown" : dirty ? "yes" : "no"],
    ["data fingerprint", asBlock(program.data).source ?? "none"],
    ["search seed", sweep.spec.seed ?? 0],
    ...Object.entries(sweep.versions ?? {}),
  ];
  return facts.map(([name, value]) => `${name}: ${String(value)}\n`).join("");
}
