// The page "Sweeps".
import { PageHead } from "../widgets/panel";

export function SweepsPage() {
  return <PageHead title="Sweeps" />;
}
