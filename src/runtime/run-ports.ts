/** Everything outside that the runtime needs; boot provides it once. */
import type { ToolPolicy } from "../kernel/policy/tool-policy.ts";
import type { Redactor } from "../kernel/redaction/redact.ts";
import type { RunId } from "../kernel/vocabulary/identifiers.ts";
import type { Outcome } from "../kernel/vocabulary/outcome.ts";
import type { ModelCall } from "./model/model-call.ts";
import type { Approver } from "./ports/approver.ts";
import type { Clock } from "./ports/clock.ts";
import type { ConfiguredModel } from "./ports/model-backend.ts";
import type { RandomBytes } from "./ports/randomness.ts";
import type { Store, StoredRun } from "./ports/store.ts";
import type { Toolbox } from "./ports/toolbox.ts";
import type { Acceptance } from "./run/acceptance.ts";
import type { BodyCache } from "./run/body-cache.ts";
import type { Delegate } from "./run/children.ts";
import type { BudgetScopes } from "./spend/spend-account.ts";

export interface RunEnd {
  readonly runId: RunId;
  readonly outcome: Outcome;
  readonly reason: string | null;
  readonly answer: string | null;
}

export interface RunPorts {
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly store: Store;
  readonly toolbox: Toolbox;
  readonly approver: Approver;
  readonly approvalTimeoutMs: number;
  readonly redactor: Redactor;
  /** Null when the model is no longer configured. */
  readonly model: (ref: string) => ConfiguredModel | null;
  /** The current policy; it can only narrow a contract. The same object until it changes. */
  readonly livePolicy: () => ToolPolicy;
  readonly budgetScopes: BudgetScopes;
  readonly delegate: Delegate;
  /** Completes the prompt of a run that begins; new texts are kept as bodies. The same object: nothing to add. */
  readonly completePrompt: (
    run: StoredRun,
    acceptance: Acceptance,
    bodies: Pick<BodyCache, "keep" | "read">,
  ) => Promise<Acceptance>;
  /** The text for the channel of a run's sender when the run has ended (P-3.4). */
  readonly presentEnding: (ending: RunEnd) => string;
  /** A defect of our own: the journal holds the id, the log the error. */
  readonly onDefect: (errorId: string, error: unknown) => void;
  /** A request to a model has ended; what listens must not throw. */
  readonly onModelCall?: (call: ModelCall) => void;
}
