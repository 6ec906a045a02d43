// A part of the sweep's page: ensemble-tab.
import { Empty } from "../../widgets/states";

export function EnsembleTab({ sweepId }: { sweepId: number }) {
  return <Empty title={`Sweep ${sweepId}`} />;
}
