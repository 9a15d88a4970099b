/** What an open home logs: requests to models, the ends of runs, and defects. */
import { LogFiles } from "../adapters/logs/log-files.ts";
import { RequestLog } from "../assistant/logs/request-log.ts";
import type { Redactor } from "../kernel/redaction/redact.ts";
import { Defect } from "../kernel/vocabulary/defect.ts";
import type { Clock } from "../runtime/ports/clock.ts";
import type { Log, LogFields } from "../runtime/ports/log.ts";
import { StoreError } from "../runtime/ports/store.ts";
import type { ConfiguredParts } from "./configured-parts.ts";
import type { Home } from "./home.ts";
import type { Settings } from "./settings.ts";

type OnDefect = (errorId: string, error: unknown) => void;
type Applying = () => Pick<ConfiguredParts, "config" | "toolbox">;

export interface Logging {
  readonly onDefect: OnDefect;
  readonly requests: Pick<RequestLog, "called" | "asked" | "entries">;
  /** The settings that apply, and what knows the secrets. */
  use(now: Applying, redactor: Redactor): void;
  /** Something works less well than it could. */
  warn(event: string, fields: LogFields): void;
  close(): Promise<void>;
}

interface LoggingOptions extends Pick<Settings, "config"> {
  readonly logs?: LogFiles;
  readonly home: Home;
  readonly clock: Clock;
  readonly onDefect: OnDefect;
}

export function openLogging({ logs: given, home, clock, config, onDefect }: LoggingOptions): Logging {
  const logs = given ?? new LogFiles(home.logsDirectory, clock, config.logging);
  let tools: Applying | null = null;
  const requests = new RequestLog(logs, () => tools?.().toolbox ?? { tools: [] });
  return {
    onDefect: loggingDefects(logs, onDefect),
    requests,
    use: (now, redactor) => {
      tools = now;
      logs.use(() => now().config.logging, redactor);
    },
    warn: (event, fields) => logs.write("gateway", "warn", event, fields),
    close: () => {
      requests.close();
      return logs.flush();
    },
  };
}

/** Only messages of our own errors are written: others may quote content (P-4.2). */
export function loggingDefects(log: Log, next: OnDefect): OnDefect {
  return (errorId, error) => {
    const isOurs = error instanceof Defect || error instanceof StoreError;
    log.write("gateway", "error", "error", {
      error_id: errorId,
      name: error instanceof Error ? error.name : typeof error,
      code: error instanceof StoreError ? error.code : null,
      message: isOurs ? error.message : null,
      at: error instanceof Error ? firstFrame(error) : null,
    });
    next(errorId, error);
  };
}

/** A place in our code. What stands before it in the stack is the message, which may hold content and line breaks. */
function firstFrame({ stack = "", message }: Error): string | null {
  const frames = stack.slice(stack.indexOf(message) + message.length);
  return /^\n\s+at (.*)/.exec(frames)?.[1] ?? null;
}
