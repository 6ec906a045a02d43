// The legend of trials that are drawn without a result.
import { formatCount } from "../format";
import type { UnfinishedCounts } from "./unfinished";

export function UnfinishedLegend({ counts: { failed, others } }: { counts: UnfinishedCounts }) {
  return (
    <>
      {others > 0 && (
        <li>
          <span className="plot-sign plot-sign-hollow" /> {formatCount(others)} pruned or running, last value
        </li>
      )}
      {failed > 0 && (
        <li>
          <span className="plot-sign plot-sign-cross unfinished-failed">×</span> {formatCount(failed)} failed, last
          value
        </li>
      )}
    </>
  );
}
