// A part of the sweep's page: curves-tab.
import { Empty } from "../../widgets/states";

export function CurvesTab({ sweepId }: { sweepId: number }) {
  return <Empty title={`Sweep ${sweepId}`} />;
}
