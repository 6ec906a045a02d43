// A part of the sweep's page: header.
import { Empty } from "../../widgets/states";

export function SweepHeader({ sweepId }: { sweepId: number }) {
  return <Empty title={`Sweep ${sweepId}`} />;
}
