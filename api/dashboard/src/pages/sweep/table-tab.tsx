// A part of the sweep's page: table-tab.
import { Empty } from "../../widgets/states";

export function TableTab({ sweepId }: { sweepId: number }) {
  return <Empty title={`Sweep ${sweepId}`} />;
}
