// The page of one ensemble.
import { PageHead } from "../widgets/panel";

export function EnsemblePage({ ensembleId }: { ensembleId: number }) {
  return <PageHead title={`Ensemble ${ensembleId}`} />;
}
