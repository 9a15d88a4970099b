import { useRecord } from "../../data/records.ts";
import { ErrorNote } from "../../parts/error-note.tsx";
import { PageFrame } from "../../parts/page-frame.tsx";
import { Skeleton } from "../../parts/skeleton.tsx";
import { useTitle } from "../../shell/page-title.ts";
import { ConformanceCard } from "./conformance-card.tsx";
import { ConnectModel } from "./connect-model.tsx";
import { ModelsCard } from "./models-card.tsx";
import { ProvidersCard } from "./providers-card.tsx";
import { SpendCard } from "./spend-card.tsx";

/** Which models may answer, and what they cost. */
export function ModelsPage() {
  useTitle("Models and spend");
  const { value, error } = useRecord("models.list", {});
  return (
    <PageFrame title="Models and spend">
      {error !== null && <ErrorNote error={error} />}
      {value === undefined && error === null && <Skeleton rows={5} />}
      <SpendCard />
      {value !== undefined && (
        <>
          <ModelsCard list={value} />
          <ProvidersCard list={value} />
          <ConnectModel list={value} />
          <ConformanceCard list={value} />
        </>
      )}
    </PageFrame>
  );
}
