/**
 * The recorded messages of one run, entry by entry. A delegated run answers its parent: of it only calls and results are
 * sent. A compaction belongs to no conversation: it tells nothing.
 */
import { refsOf } from "../../kernel/journal/body.ts";
import type { Entry } from "../../kernel/journal/entry.ts";
import type { Lookup } from "../../kernel/journal/views/body-content.ts";
import { explainRun } from "../../kernel/journal/views/failure-explanation.ts";
import { readEntry, TIMELINE_START, type TimelineItem } from "../../kernel/journal/views/run-timeline.ts";
import { messagesOfItem, type WsMessage } from "../../kernel/journal/views/websocket-messages.ts";
import type { Store, StoredRun } from "../../runtime/ports/store.ts";
import { findContract, readBodiesOf, readWholeJournal } from "../../runtime/run/read-run.ts";
import { COMPACTION_SOURCE } from "../../runtime/run/run-rules.ts";
import type { Place } from "./progress.ts";

export interface RecordedMessage {
  readonly message: WsMessage;
  readonly place: Place;
}

export interface RunMessageParts {
  readonly store: Store;
  /** The variable that holds the key for a model; null if the config knows none. */
  readonly keyNameOf: (model: string) => string | null;
}

/** Takes a run's entries in their order. */
export class RunMessages {
  readonly #parts: RunMessageParts;
  readonly #run: StoredRun;
  readonly #entries: Entry[] = [];
  #sent = 0;

  constructor(parts: RunMessageParts, run: StoredRun) {
    this.#parts = parts;
    this.#run = run;
  }

  /** Their content is read only where `isNews` of the entry. */
  async next(entry: Entry, items: readonly TimelineItem[], isNews: boolean): Promise<readonly RecordedMessage[]> {
    this.#entries.push(entry);
    const lookup = isNews && items.length > 0 ? await this.#bodiesOf(entry, items) : () => null;
    const messages: WsMessage[] = [];
    for (const item of items) {
      messages.push(...messagesOfItem(item, this.#sent + messages.length, lookup, this.#factsOf(item, lookup)));
    }
    this.#sent += messages.length;
    const sent = messages.map((message, index) => ({ message, place: { seq: entry.seq, sent: index + 1 } }));
    return isNews ? sent.filter(({ message }) => isSent(this.#run, message)) : [];
  }

  #factsOf(item: TimelineItem, lookup: Lookup) {
    const { model } = this.#run;
    const entries = this.#entries;
    if (item.kind !== "ended") return { entries, model, explanation: "" };
    const keyName = this.#parts.keyNameOf(model);
    return { entries, model, explanation: explainRun(entries, findContract(this.#run), keyName, lookup) };
  }

  async #bodiesOf(entry: Entry, items: readonly TimelineItem[]): Promise<Lookup> {
    const args = items.flatMap((item) => ("call" in item ? [item.call.argsRef] : []));
    // Why a run failed can be in the answer before its end.
    const before = entry.kind === "TERMINATE" ? this.#entries.slice(-4).flatMap(refsOf) : [];
    const bodies = await readBodiesOf(this.#parts.store, this.#run, [entry], [...args, ...before]);
    return (ref) => bodies.get(ref)?.text ?? null;
  }
}

export async function recordedMessages(parts: RunMessageParts, run: StoredRun): Promise<readonly RecordedMessage[]> {
  if (run.source === COMPACTION_SOURCE) return [];
  const { entries } = await readWholeJournal(parts.store, run.runId);
  const messages = new RunMessages(parts, run);
  const sent: RecordedMessage[] = [];
  let reading = TIMELINE_START;
  for (const entry of entries) {
    const { now, next } = readEntry(reading, entry);
    reading = next;
    sent.push(...(await messages.next(entry, now, true)));
  }
  return sent;
}

function isSent({ parentRunId }: StoredRun, { type }: WsMessage): boolean {
  return parentRunId === null || type === "tool.call" || type === "tool.result";
}
