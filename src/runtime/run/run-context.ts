/** Everything the driver of one run has before it: the run, its surroundings, and what it has said so far. */

import type { Authority } from "../capabilities/authority.ts";
import type { StoredRun } from "../ports/store.ts";
import type { RunPorts } from "../run-ports.ts";
import type { SpendAccount } from "../spend/spend-account.ts";
import type { Acceptance } from "./acceptance.ts";
import type { BodyCache } from "./body-cache.ts";
import type { CommandExecutor } from "./command-executor.ts";
import type { Conversation } from "./conversation.ts";
import type { RunObserver } from "./run-observer.ts";

export interface RunContext {
  readonly ports: RunPorts;
  readonly run: StoredRun;
  readonly acceptance: Acceptance;
  /** Whether the run itself is durable, while that is not known yet; null where it is. */
  readonly isAccepted: Promise<boolean> | null;
  readonly bodyCache: BodyCache;
  readonly conversation: Conversation;
  readonly account: SpendAccount;
  readonly authority: Authority;
  readonly executor: CommandExecutor;
  readonly observer: RunObserver;
}
