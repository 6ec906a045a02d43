// Some trials of a sweep side by side.
import { PageHead } from "../../widgets/panel";

export function ComparePage({ sweepId }: { sweepId: number }) {
  return <PageHead title={`Compare trials of sweep ${sweepId}`} />;
}
