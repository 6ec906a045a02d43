// The page "Ensembles".
import { PageHead } from "../widgets/panel";

export function EnsemblesPage() {
  return <PageHead title="Ensembles" />;
}
