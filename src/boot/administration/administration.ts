/** What administrators of a running home ask for, beside its configuration: models, budget, policy, status. */
import type { Tool } from "../../adapters/tools/define-tool.ts";
import type { ModelServices } from "../../assistant/models/operations.ts";
import type { PolicyServices } from "../../assistant/policy/operations.ts";
import type { StatusServices } from "../../assistant/status/operations.ts";
import type { Clock } from "../../runtime/ports/clock.ts";
import type { Store } from "../../runtime/ports/store.ts";
import type { Toolbox } from "../../runtime/ports/toolbox.ts";
import type { BudgetServices } from "../../runtime/spend/operations.ts";
import { sandboxWhenNeeded } from "../built-in-tools.ts";
import { type ConformanceJobs, type ConformanceParts, openConformance } from "./conformance.ts";
import { openModelAdministration } from "./models.ts";
import { openPolicyAdministration } from "./policy.ts";
import { openStatus, type StatusParts } from "./status.ts";

interface AdministrationParts extends Omit<StatusParts, "sandbox" | "store" | "clock">, ConformanceParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly tools: () => readonly Tool[];
  readonly toolbox: () => Toolbox;
}

export function openAdministration(parts: AdministrationParts): Omit<ModelServices, "conformance"> &
  Pick<PolicyServices & StatusServices & BudgetServices, "policy" | "status" | "budgets"> & {
    readonly conformance: ConformanceJobs;
  } {
  const { home, clock, settings, findModel } = parts;
  return {
    models: openModelAdministration({ home, clock, settings, findModel }),
    conformance: openConformance(parts),
    policy: openPolicyAdministration({ ...parts, config: () => settings().config }),
    status: openStatus({ ...parts, sandbox: sandboxWhenNeeded(clock) }),
    budgets: () => settings().config.budgets,
  };
}
