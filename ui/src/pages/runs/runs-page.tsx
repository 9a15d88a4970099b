import { useTitle } from "../../shell/page-title.ts";

export function RunsPage() {
  useTitle("Runs");
  return <h1>Runs</h1>;
}
