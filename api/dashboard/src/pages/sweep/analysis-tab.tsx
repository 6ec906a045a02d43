// A part of the sweep's page: analysis-tab.
import { Empty } from "../../widgets/states";

export function AnalysisTab({ sweepId }: { sweepId: number }) {
  return <Empty title={`Sweep ${sweepId}`} />;
}
