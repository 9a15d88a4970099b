/** `surety verify --home` on what a fault left: every journal, the ledger, and whether they tell one story. */
import type { Stage } from "./stage.ts";

export async function verifyHome(stage: Stage): Promise<readonly string[]> {
  const { code, output } = await stage.surety("verify");
  return code === 0 ? [] : [`the home does not verify: ${output}`];
}
