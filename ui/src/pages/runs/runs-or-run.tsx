import type { PageProps } from "../page.ts";
import { RunPage } from "./run-page.tsx";
import { RunsPage } from "./runs-page.tsx";

/** `/runs` is the list, `/runs/ID` one of them. */
export function RunsOrRun({ params }: PageProps) {
  const { id } = params;
  return id === undefined ? <RunsPage /> : <RunPage key={id} id={id} />;
}
