/** Which records a durable write changes: what the feed is rung for. */
import type { Entry } from "../../kernel/journal/entry.ts";
import type { LedgerKind } from "../../kernel/journal/ledger.ts";
import type { Store, Write } from "../../runtime/ports/store.ts";
import type { ChangedRecord, Feed, RecordKind } from "./feed.ts";

/** The same store; the feed hears of what its commits change once they are durable. */
export function ringing(feed: Pick<Feed, "changed">, store: Store): Store {
  return {
    ...store,
    commit: (writes, urgency) => {
      // Before the commit, so that nothing keeps the writes in memory until it is durable.
      const changed = recordsChangedBy(writes);
      const committed = store.commit(writes, urgency);
      committed.then(
        () => {
          for (const { record, id } of changed) feed.changed(record, id);
        },
        () => {},
      );
      return committed;
    },
  };
}

/** Most commits are about one run: it is named once. */
function recordsChangedBy(writes: readonly Write[]): readonly ChangedRecord[] {
  const changed: ChangedRecord[] = [];
  for (const write of writes) {
    for (const { record, id } of recordsIn(write)) {
      if (!changed.some((each) => each.record === record && each.id === id)) changed.push({ record, id });
    }
  }
  return changed;
}

/** An untrusted context may have written in the workspace, where marks are kept. */
export function mayMark({ kind, labels }: Entry): boolean {
  return kind === "OBSERVE" && labels.integrity === "untrusted";
}

const NONE: readonly ChangedRecord[] = [];
const BUDGET: readonly ChangedRecord[] = [{ record: "budget", id: null }];
const GOVERNANCE: readonly ChangedRecord[] = [{ record: "governance", id: null }];
const PAIRING: readonly ChangedRecord[] = [{ record: "pairing", id: null }];

function recordsIn(write: Write): readonly ChangedRecord[] {
  switch (write.type) {
    case "insert-run":
      return [one("run", write.run.runId), one("session", write.run.sessionId)];
    case "append-entries":
    case "set-status":
    case "request-cancel":
      return [one("run", write.runId)];
    case "seal-run":
      // Its open questions expire with it.
      return [one("run", write.runId), one("approval", null)];
    case "insert-approval":
      return [one("approval", write.approval.id)];
    case "decide-approval":
    case "consume-approval":
      return [one("approval", write.id)];
    case "insert-session":
      return [one("session", write.session.sessionId)];
    case "route-session":
    case "change-session":
    case "import-turns":
    case "write-checkpoint":
      return [one("session", write.sessionId)];
    case "erase-content":
      return [one("session", write.sessionId), ...write.runs.map(({ runId }) => one("run", runId))];
    case "add-memory":
      return [one("memory", write.memory.id)];
    case "forget-memory":
      return write.draft.data.memoryIds.map((id) => one("memory", id));
    case "use-memories":
      return [...write.retrieved, ...write.cited].map((id) => one("memory", id));
    case "request-capability":
    case "decide-capability":
      return [one("capability", write.draft.data.sessionId)];
    case "reserve-spend":
    case "settle-spend":
    case "release-spend":
    case "count-spend":
      return BUDGET;
    case "put-secret":
    case "remove-secret":
      return [one("secret", write.draft.data.name)];
    case "insert-outbox":
      return [one("outbox", write.delivery.id)];
    case "move-outbox":
      return [one("outbox", write.id)];
    case "request-pairing":
    case "decide-pairing":
      return PAIRING;
    case "put-token":
      return [one("token", write.token.id)];
    case "remove-token":
      return [one("token", write.draft.data.tokenId)];
    case "insert-browser":
      return [one("browser_session", write.browser.id)];
    case "remove-browser":
      return [one("browser_session", write.draft.data.browserId)];
    case "see-browser":
      return [one("browser_session", write.id)];
    case "insert-ghost":
      return [one("ghost", write.ghost.id)];
    case "decide-ghost":
      return [one("ghost", write.id)];
    case "advance-tier":
      return GOVERNANCE;
    case "add-job":
      return [one("job", write.job.record.id)];
    case "remove-job":
    case "pause-job":
    case "settle-slots":
    case "note-job-run":
      return [one("job", write.jobId)];
    case "pause-schedule":
      return [one("job", null)];
    case "append-ledger": {
      const record = RECORD_OF_LEDGER[write.draft.kind];
      return record === undefined ? NONE : [one(record, null)];
    }
    // Bodies come with what names them; a claim, a slot and an inbox row are shown nowhere.
    default:
      return NONE;
  }
}

const RECORD_OF_LEDGER: Readonly<Partial<Record<LedgerKind, RecordKind>>> = {
  "token.rotated": "token",
  "config.changed": "config",
  "mark.removed": "mark",
  "home.restored": "run",
};

function one(record: RecordKind, id: string | null): ChangedRecord {
  return { record, id };
}
