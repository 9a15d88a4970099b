/** Disclosure guards (P-2.5), compiled once for each set of system texts: runs share prompts. */
import { compileDisclosureGuard, type DisclosureGuard } from "../../kernel/redaction/disclosure-guard.ts";

export function disclosureGuards(): (systemTexts: readonly string[]) => DisclosureGuard {
  const guards = new Map<string, DisclosureGuard>();
  return (systemTexts) => {
    const key = systemTexts.join("\0");
    const guard = guards.get(key) ?? compileDisclosureGuard(systemTexts);
    guards.set(key, guard);
    return guard;
  };
}
