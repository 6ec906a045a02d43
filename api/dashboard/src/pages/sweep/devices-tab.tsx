// A part of the sweep's page: devices-tab.
import { Empty } from "../../widgets/states";

export function DevicesTab({ sweepId }: { sweepId: number }) {
  return <Empty title={`Sweep ${sweepId}`} />;
}
