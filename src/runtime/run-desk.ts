/** Everything the driver of one run has before it: the run, its surroundings, and what it has said so far. */
import type { Acceptance } from "./acceptance.ts";
import type { Authority } from "./authority.ts";
import type { BodyShelf } from "./body-shelf.ts";
import type { Conversation } from "./conversation.ts";
import type { StoredRun } from "./ports/store.ts";
import type { RunHands } from "./run-hands.ts";
import type { RunObserver } from "./run-observer.ts";
import type { RunPorts } from "./run-ports.ts";
import type { SpendAccount } from "./spend.ts";

export interface RunDesk {
  readonly ports: RunPorts;
  readonly run: StoredRun;
  readonly acceptance: Acceptance;
  /** Whether the run itself is durable, while that is not known yet; null where it is. */
  readonly isAccepted: Promise<boolean> | null;
  readonly shelf: BodyShelf;
  readonly conversation: Conversation;
  readonly account: SpendAccount;
  readonly authority: Authority;
  readonly hands: RunHands;
  readonly observer: RunObserver;
}
