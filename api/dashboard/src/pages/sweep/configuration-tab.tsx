// A part of the sweep's page: configuration-tab.
import { Empty } from "../../widgets/states";

export function ConfigurationTab({ sweepId }: { sweepId: number }) {
  return <Empty title={`Sweep ${sweepId}`} />;
}
