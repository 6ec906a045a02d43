// The page "Devices".
import { PageHead } from "../widgets/panel";

export function DevicesPage() {
  return <PageHead title="Devices" />;
}
