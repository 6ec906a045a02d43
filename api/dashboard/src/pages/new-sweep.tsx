// The page "New sweep".
import { PageHead } from "../widgets/panel";

export function NewSweepPage() {
  return <PageHead title="New sweep" />;
}
