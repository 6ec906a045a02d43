// Panels with the problems of the sweep file, each with its line, and with the notes on it.
import { Panel } from "../widgets/panel";
import type { Problem, Read } from "./sweep-file-draft";

export function Problems({ problems, onGo }: { problems: Read["problems"]; onGo: (problem: Problem) => void }) {
  if (problems.length === 0) return null;
  return (
    <Panel title={problems.length === 1 ? "1 problem" : `${problems.length} problems`}>
      <ul className="new-problems" role="status">
        {problems.map((problem, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: problems have no other key
          <li key={place}>
            <ProblemText problem={problem} onGo={onGo} />
          </li>
        ))}
      </ul>
    </Panel>
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

export function Notes({ notes }: { notes: Read["notes"] }) {
  if (notes.length === 0) return null;
  return (
    <Panel title="Notes">
      <ul className="new-notes">
        {notes.map(note => (
          <li key={note}>{note}</li>
        ))}
      </ul>
    </Panel>
  );
}
