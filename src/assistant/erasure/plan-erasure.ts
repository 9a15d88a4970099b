/**
 * What goes when runs of a session are forgotten: their own texts, and what was made of them.
 *
 * E1. A summary whose evidence includes a run goes with it, and so does the compaction that wrote it.
 * E2. What later prompts of the session repeat of a run (its calls in short, what the session remembers) goes too.
 * E3. What the session remembers is made again from the runs that stay.
 * E4. Children go with their parent, in whichever session they are.
 * E5. A message or an answer of a run that stays is kept, also where a forgotten run names the same text.
 */
import { refsOf } from "../../kernel/journal/body.ts";
import type { Entry } from "../../kernel/journal/entry.ts";
import { applyNotes, EMPTY_CHECKPOINT } from "../../kernel/protocol/checkpoint-state.ts";
import type { NotesPatch } from "../../kernel/protocol/notes.ts";
import type { BodyRef, RunId, SessionId } from "../../kernel/vocabulary/identifiers.ts";
import { CLEAN_LABELS, joinLabels } from "../../kernel/vocabulary/labels.ts";
import { parseJson } from "../../kernel/vocabulary/parse-json.ts";
import { notedIn, readCheckpoint, summaryIn } from "../../runtime/checkpoint/session-checkpoint.ts";
import type { PlacedRun, Store } from "../../runtime/ports/store.ts";
import type { ErasedRun } from "../../runtime/ports/stored-erasure.ts";
import type { StoredCheckpoint } from "../../runtime/ports/stored-session.ts";
import { type Acceptance, findAcceptance } from "../../runtime/run/acceptance.ts";
import { messageOfRun } from "../../runtime/run/message-of-run.ts";
import { readBodies, readWholeJournal } from "../../runtime/run/read-run.ts";
import { LATEST } from "../context/session-context.ts";

/** `all`: the session itself is forgotten. */
export type Chosen = ReadonlySet<RunId> | "all";

export interface SessionPlan {
  readonly sessionId: SessionId;
  readonly isWhole: boolean;
  readonly runs: readonly ErasedRun[];
  readonly copies: readonly BodyRef[];
  /** What the session remembers from now on; null: as before, or nothing at all. */
  readonly checkpoint: Pick<StoredCheckpoint, "revision" | "state" | "summary" | "condensedThrough"> | null;
  /** As they were kept, and without the notes of files. */
  readonly messages: readonly string[];
  /** Files that came with messages, in the workspace. */
  readonly placed: readonly string[];
  readonly children: readonly RunId[];
}

interface Content {
  readonly run: PlacedRun;
  readonly acceptance: Acceptance | null;
  readonly entries: readonly Entry[];
}

const PAGE = 200;

/** Runs of the session that have not ended are not looked at: the store refuses then. */
export async function planErasure(store: Store, sessionId: SessionId, chosen: Chosen): Promise<SessionPlan> {
  const all = await endedRuns(store, sessionId);
  const wanted = withCompactions(all, chosen);
  const gone = await Promise.all(
    all
      .filter(({ runId, erasedAt }) => wanted.has(runId) && erasedAt === undefined)
      .map((run) => contentOf(store, run)),
  );
  const stay = all.filter(({ runId }) => !wanted.has(runId));
  const kept = new Set(
    stay.flatMap(({ accepted, answerRef }) => [findAcceptance(accepted)?.event.messageRef, answerRef]),
  );
  const isGone = (ref: BodyRef): boolean => !kept.has(ref);
  const isWhole = chosen === "all";
  const messages = await Promise.all(gone.map(({ run }) => messageOfRun(store, run)));
  const said = messages.filter((message) => message !== null);
  const media = await mediaWith(store, sessionId, said);
  const runs = await Promise.all(
    gone.map(async (content, at) => {
      const uploads = media.filter(({ message }) => message === messages[at]).map(({ bodyRef }) => bodyRef);
      const refs = [...new Set([...(await ownRefs(store, content)), ...uploads])].filter(isGone).sort();
      return { runId: content.run.runId, refs };
    }),
  );
  return {
    ...{ sessionId, isWhole, runs, messages: [...said, ...said.map(withoutNotes)] },
    copies: copiesIn(stay, gone).filter(isGone),
    checkpoint: isWhole ? null : await checkpointWithout(store, sessionId, gone, stay),
    placed: media.map(({ path }) => path),
    children: gone.flatMap(({ entries }) => entries.flatMap(childOf)),
  };
}

async function endedRuns(store: Store, sessionId: SessionId): Promise<readonly PlacedRun[]> {
  const all: PlacedRun[] = [];
  for (let before = LATEST; ; ) {
    const page = await store.sessionRuns(sessionId, { after: 0, before }, PAGE);
    all.unshift(...page);
    const [first] = page;
    if (first === undefined || page.length < PAGE) return all;
    before = first.position;
  }
}

/** Oldest first: a later compaction names the one before it. */
function withCompactions(runs: readonly PlacedRun[], chosen: Chosen): ReadonlySet<RunId> {
  if (chosen === "all") return new Set(runs.map(({ runId }) => runId));
  const wanted = new Set<string>(chosen);
  for (const { runId, accepted } of runs) {
    if (findAcceptance(accepted)?.condenses?.evidence.some((id) => wanted.has(id))) wanted.add(runId);
  }
  return wanted as ReadonlySet<string> as ReadonlySet<RunId>;
}

async function contentOf(store: Store, run: PlacedRun): Promise<Content> {
  // Of a damaged journal, what can be read: the store removes the texts of the rest as well.
  const { entries } = await readWholeJournal(store, run.runId);
  return { run, acceptance: findAcceptance(run.accepted), entries };
}

async function ownRefs(store: Store, { run, acceptance, entries }: Content): Promise<readonly BodyRef[]> {
  const asked = await store.approvalsOf(run.runId);
  const shown = asked.flatMap(({ planRef, backgroundRef }) =>
    backgroundRef === null ? [planRef] : [planRef, backgroundRef],
  );
  return [...entries.flatMap(refsOf), ...shown, ...(acceptance === null ? [] : acceptedRefs(acceptance))];
}

/** Not what earlier turns said: those are other runs. */
function acceptedRefs({ event, supplied, opening }: Acceptance): readonly BodyRef[] {
  const prompt = opening.flatMap((item) => {
    if (item.role === "calls") return callRefs(item);
    return item.role === "system" && "ref" in item ? [item.ref] : [];
  });
  const given = supplied === undefined ? [] : [supplied.instructions, ...supplied.history.map(({ ref }) => ref)];
  const images = event.media?.map(({ ref }) => ref) ?? [];
  return [event.messageRef, ...images, ...prompt, ...given.filter((ref) => ref !== null)];
}

type CallsItem = Extract<Acceptance["opening"][number], { readonly role: "calls" }>;

function callRefs({ calls }: CallsItem): readonly BodyRef[] {
  return calls.flatMap(({ argsRef, ref }) => [argsRef, ref]);
}

/** In the prompts of runs that stay. A turn begins with its message. */
function copiesIn(stay: readonly PlacedRun[], gone: readonly Content[]): readonly BodyRef[] {
  const asked = new Set(gone.map(({ acceptance }) => acceptance?.event.messageRef));
  const first = Math.min(...gone.map(({ run }) => run.position));
  return stay.flatMap(({ position, accepted }) => {
    const acceptance = position < first ? null : findAcceptance(accepted);
    if (acceptance === null) return [];
    let isOfGone = false;
    const calls = acceptance.opening.flatMap((item) => {
      if (item.role === "user") isOfGone = asked.has(item.ref);
      return item.role === "calls" && isOfGone ? callRefs(item) : [];
    });
    const layers = acceptance.manifest?.layers ?? [];
    return [...calls, ...layers.flatMap((layer) => (layer.layer === "context" ? [layer.ref] : []))];
  });
}

function childOf(entry: Entry): readonly RunId[] {
  return entry.kind === "EXECUTE" && entry.decided.child !== null ? [entry.decided.child.runId] : [];
}

async function checkpointWithout(
  store: Store,
  sessionId: SessionId,
  gone: readonly Content[],
  stay: readonly PlacedRun[],
): Promise<SessionPlan["checkpoint"]> {
  const stored = await readCheckpoint(store, sessionId);
  if (stored.revision === 0) return null;
  const summary = summaryIn(stored);
  const isSummaryGone = summary !== null && gone.some(({ run }) => run.runId === summary.writtenBy);
  const areNotesGone = gone.some(({ entries }) => entries.some((entry) => notesRefOf(entry) !== null));
  if (!isSummaryGone && !areNotesGone) return null;
  return {
    revision: stored.revision + 1,
    state: areNotesGone ? await notedBy(store, stay) : stored.state,
    summary: isSummaryGone ? null : stored.summary,
    // The turns that the summary covered, and that stay, are sent as messages again.
    condensedThrough: isSummaryGone ? 0 : stored.condensedThrough,
  };
}

/** `NotedState` as JSON. */
async function notedBy(store: Store, stay: readonly PlacedRun[]): Promise<string> {
  let state = EMPTY_CHECKPOINT;
  let labels = CLEAN_LABELS;
  for (const run of stay) {
    const { entries } = await readWholeJournal(store, run.runId);
    const noting = entries.filter((entry) => notesRefOf(entry) !== null);
    const bodies = await readBodies(
      store,
      run.sessionId,
      noting.flatMap((entry) => notesRefOf(entry) ?? []),
      run.runId,
    );
    for (const entry of noting) {
      const ref = notesRefOf(entry);
      const patch = ref === null ? null : parseJson(bodies.get(ref)?.text ?? "");
      if (patch === null || !patch.ok) continue;
      ({ state } = applyNotes(state, patch.value as unknown as NotesPatch));
      labels = joinLabels(labels, entry.labels);
    }
  }
  return JSON.stringify({ ...notedIn(state), labels });
}

function notesRefOf({ result }: Entry): BodyRef | null {
  return result?.type === "model.answered" && result.notes?.status === "applied" ? result.notes.ref : null;
}

/** The note that a message has of each file that came with it (runs/read-media.ts). */
const FILE_NOTE = /^\[file: (.+), ([\w/+.-]+), (\d+) KB\]$/gm;

function withoutNotes(message: string): string {
  return message.replace(FILE_NOTE, "").trimEnd();
}

async function mediaWith(store: Store, sessionId: SessionId, messages: readonly string[]) {
  const named = messages.flatMap((message) =>
    [...message.matchAll(FILE_NOTE)].map(([, path = "", type = "", kilobytes = ""]) => ({
      message,
      path,
      type,
      kilobytes,
    })),
  );
  const known = named.length === 0 ? [] : await store.mediaOf(sessionId);
  return named.flatMap(({ message, path, type, kilobytes }) => {
    const stem = (path.split("/").at(-1) ?? "").replace(/(?:-\d+)?(\.[^.]*)$/, "$1");
    const media = known.find(
      (each) =>
        each.type === type &&
        String(Math.ceil(each.bytes / 1024)) === kilobytes &&
        (path.endsWith(`/${each.name}`) || stem === each.name),
    );
    return media === undefined ? [] : [{ message, path, bodyRef: media.bodyRef }];
  });
}
