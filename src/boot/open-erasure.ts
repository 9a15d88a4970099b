/**
 * Erasure, loaded when something is forgotten. What an earlier process left undone is finished when the home is opened.
 */
import { readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import type { SessionContext } from "../assistant/context/session-context.ts";
import type { Erasure } from "../assistant/erasure/erasure.ts";
import type { ErasureServices } from "../assistant/erasure/operations.ts";
import type { Redactor } from "../kernel/redaction/redact.ts";
import type { Clock } from "../runtime/ports/clock.ts";
import type { Inbox } from "../runtime/ports/inbox.ts";
import type { Store } from "../runtime/ports/store.ts";
import type { Home } from "./home.ts";
import type { openRecords } from "./open-records.ts";

interface ErasureParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly home: Home;
  readonly context: Pick<SessionContext, "forgetTurns">;
  readonly records: Pick<ReturnType<typeof openRecords>, "erase">;
  readonly redactor: Pick<Redactor, "redactText">;
  readonly inbox: Pick<Inbox, "remove">;
  readonly onDefect: (errorId: string, error: unknown) => void;
}

export interface OpenErasure extends ErasureServices {
  /** After the home was opened. */
  resume(): Promise<void>;
  /** Before the store is closed. */
  settle(): Promise<void>;
}

export function openErasure(parts: ErasureParts): OpenErasure {
  const { store, home, onDefect } = parts;
  let loading: Promise<Erasure> | null = null;
  const load = (): Promise<Erasure> => (loading ??= make(parts));
  return {
    erasure: {
      forgetRun: async (...asked) => await (await load()).forgetRun(...asked),
      forgetSession: async (...asked) => await (await load()).forgetSession(...asked),
    },
    earlierDatabases: async () => {
      const names = await readdir(home.directory);
      const beginning = `${basename(home.database)}.replaced-`;
      return names.filter((name) => name.startsWith(beginning)).map((name) => join(home.directory, name));
    },
    resume: async () => {
      if ((await store.pendingErasures()).length === 0) return;
      load().then(
        (erasure) => erasure.resume(),
        (error: unknown) => onDefect("erasure", error),
      );
    },
    settle: async () => {
      await (await loading)?.settle();
    },
  };
}

async function make({
  store,
  clock,
  home,
  context,
  records,
  redactor,
  inbox,
  onDefect,
}: ErasureParts): Promise<Erasure> {
  const { Erasure } = await import("../assistant/erasure/erasure.ts");
  return new Erasure({
    ...{ store, clock },
    forgetTurns: () => context.forgetTurns(),
    forgetMessages: async (messages, placed) => {
      const { removeFromPromptHistory } = await import("./prompt-history.ts");
      const said = new Set(messages);
      await removeFromPromptHistory(home, (typed) => said.has(typed) || said.has(redactor.redactText(typed).text));
      await inbox.remove(placed);
    },
    eraseFiles: async (erased) => {
      const { emptyPageCache } = await import("../adapters/tools/http/page-cache.ts");
      await records.erase(erased);
      emptyPageCache(home.pageCache);
    },
    onDefect: (error) => onDefect("erasure", error),
  });
}
