/** What opening a home takes, and what is open then. */
import type { LogFiles } from "../adapters/logs/log-files.ts";
import type { HomeLock } from "../adapters/store-sqlite/home-lock.ts";
import type { RegistryToolbox } from "../adapters/tools/create-toolbox.ts";
import type { Tool } from "../adapters/tools/define-tool.ts";
import type { Delivery } from "../assistant/delivery/delivery.ts";
import type { EventBus } from "../assistant/events/event-bus.ts";
import type { Media } from "../assistant/media/media.ts";
import type { Conversations } from "../assistant/messages/messages.ts";
import type { OperationClient } from "../assistant/operations.ts";
import type { Assistant } from "../assistant/runs/open-assistant.ts";
import type { Schedule } from "../assistant/schedule/schedule.ts";
import type { SessionImport } from "../assistant/sessions/import-session.ts";
import type { SubAgents } from "../assistant/subagents/sub-agents.ts";
import type { Access } from "../runtime/access/access.ts";
import type { FindModel } from "../runtime/model/model-registry.ts";
import type { Approver } from "../runtime/ports/approver.ts";
import type { Clock } from "../runtime/ports/clock.ts";
import type { ConfiguredModel } from "../runtime/ports/model-backend.ts";
import type { RandomBytes } from "../runtime/ports/randomness.ts";
import type { Store, StoredRun } from "../runtime/ports/store.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { RunConformance } from "./administration/conformance.ts";
import type { Config } from "./config/config.ts";
import type { ReadVariable } from "./environment.ts";
import type { Home } from "./home.ts";
import type { ShadowLoop } from "./open-shadow.ts";
import type { Settings } from "./settings.ts";
import type { SigningKey } from "./signing-key.ts";

export interface SuretyOptions {
  readonly home: Home;
  readonly config: Config;
  readonly readVariable: ReadVariable;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly token: string | null;
  /** Replaces the home's own token; null: it does not come from the home. */
  readonly replaceToken?: ((token: string) => Promise<void>) | null;
  readonly approver: Approver;
  readonly onDefect: (errorId: string, error: unknown) => void;
  /** Prints a line for the operator. */
  readonly remark?: (line: string) => void;
  /** What the config file says, where it waits for a restart; absent: `config`. */
  readonly written?: Config;
  /** A client has changed the config; this is what the file says now. */
  readonly onReconfigured?: (settings: Settings) => void;
  /** Why changed settings were not taken over; null: they were. */
  readonly settingsProblem?: () => string | null;
  /** For clients; absent in a process that serves none. */
  readonly runConformance?: RunConformance;
  /** Called once, when nothing can be written any more: what is in memory must not be acted on. */
  readonly onStoreFailure?: (error: unknown) => void;
  /** The home's lock, if the caller holds it for longer than the store is open. */
  readonly lock?: HomeLock | undefined;
  /** Runs at the same time; absent: as configured. */
  readonly workers?: number | undefined;
  /** These outlive this opening; absent: its own. */
  readonly events?: EventBus;
  readonly logs?: LogFiles;
  /** Told of each run that has ended; null: the config has it off. */
  readonly telemetry?: {
    readonly runEnded: (store: Pick<Store, "readEntries">, run: StoredRun) => void;
  } | null;
  /** Additional tools; they replace built-in tools of the same name. */
  readonly moreTools?: readonly Tool[];
  /** Whose packages local models use; absent: this home. */
  readonly modelsHome?: string;
  /** Replaces each configured model. */
  readonly overModel?: (model: ConfiguredModel) => ConfiguredModel;
  /** Replaces the home's own store. */
  readonly overStore?: (store: Store) => Store;
}

export interface Surety {
  readonly assistant: Assistant;
  readonly events: EventBus;
  /** Closed until it is started: a command delivers nothing. */
  readonly delivery: Delivery;
  /** Watches nothing until it is started. */
  readonly shadow: ShadowLoop;
  /** Settles nothing until it is started, for the same reason. */
  readonly schedule: Schedule;
  readonly operations: OperationClient;
  readonly conversations: Conversations;
  readonly access: Access;
  readonly media: Media;
  readonly runtime: Runtime;
  readonly store: Store;
  readonly signing: SigningKey;
  readonly toolbox: RegistryToolbox;
  readonly findModel: FindModel;
  readonly subAgents: SubAgents;
  readonly sessionImport: SessionImport;
  /** The files say so by now; for what begins from now on. Throws before anything has changed. */
  reconfigure(settings: Settings): Promise<void>;
  close(graceMs: number): Promise<void>;
}
