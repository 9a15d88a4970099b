/** Operations on memories (S-5). */
import { type Static, Type } from "typebox";
import { refsOf } from "../../kernel/journal/body.ts";
import { memoriesCited, memoriesGiven } from "../../kernel/journal/views/memory-citations.ts";
import { AGENT_ID_PATTERN } from "../../kernel/vocabulary/agent-id.ts";
import { asMemoryId, type BodyRef, type MemoryId } from "../../kernel/vocabulary/identifiers.ts";
import { CONFIDENTIALITIES, INTEGRITIES, USER_LABELS } from "../../kernel/vocabulary/labels.ts";
import { Count, closed, nullable } from "../../kernel/vocabulary/schema-primitives.ts";
import { MAX_MEMORY_CHARS, MAX_TAGS } from "../../runtime/memory/memory-rules.ts";
import { pageFields, pageOf, RunIdInput } from "../../runtime/operations/input-schemas.ts";
import { operationsOver, refuse } from "../../runtime/operations/operation.ts";
import type { Store } from "../../runtime/ports/store.ts";
import { MEMORY_KINDS, type StoredMemory } from "../../runtime/ports/stored-memory.ts";
import { readBodies, readWholeJournal } from "../../runtime/run/read-run.ts";
import type { Memories } from "./memories.ts";

export interface MemoryServices {
  readonly store: Pick<Store, "findRun" | "readEntries" | "readBodies">;
  readonly memories: Pick<Memories, "list" | "find" | "show" | "uses" | "forget" | "add" | "addAll">;
}

const Text = Type.String();
const optional = Type.Optional;
const Id = Type.Unsafe<MemoryId>(Type.String({ pattern: "^mem_[0-9a-f]{1,64}$" }));
const Tag = Type.String({ pattern: "^[\\p{L}\\p{N}_-]{1,64}$" });
const AgentId = Type.String({ pattern: AGENT_ID_PATTERN });
const MemoryText = Type.String({ pattern: "\\S", maxLength: MAX_MEMORY_CHARS });
const DEFAULT_AGENT = "main";
/** Of those that cite a memory, or whose model was given it. */
const MAX_RUNS = 100;
const MAX_IMPORTED = 500;
const MAX_NAME_CHARS = 1_024;
const NO_SUCH_MEMORY = refuse("not_found", "no such memory");

const MemorySchema = Type.Object({
  id: Text,
  agent_id: Text,
  kind: Type.Enum([...MEMORY_KINDS]),
  /** Null: it was forgotten. */
  text: nullable(Text),
  tags: Type.Array(Text),
  labels: Type.Object({
    integrity: Type.Enum([...INTEGRITIES]),
    confidentiality: Type.Enum([...CONFIDENTIALITIES]),
  }),
  /** The one session, by its key, that is given it; null: every session of this machine. */
  session_key: nullable(Text),
  /** Where it comes from: a run and the entry of its journal; null: from no run. */
  source: nullable(Type.Object({ run_id: Text, seq: Count })),
  /** Who added it, or the file it was in. */
  origin: Text,
  created_at: Text,
  supersedes: nullable(Text),
  superseded_by: nullable(Text),
  forgotten_at: nullable(Text),
  /** Of a search. */
  score: optional(Type.Number()),
});
export type WireMemory = Static<typeof MemorySchema>;

const ShownSchema = Type.Object({
  ...MemorySchema.properties,
  /** Newest first. `cited`: its answer cites the memory; otherwise its model was only given it. */
  runs: Type.Array(Type.Object({ run_id: Text, cited: Type.Boolean() })),
});
const AddedSchema = Type.Object({ id: Text, added: Type.Boolean() });

const { json } = operationsOver<MemoryServices>();

export const memoryOperations = [
  json({
    name: "memory.list",
    method: "GET",
    path: "/api/memory",
    scope: "operate",
    summary: "lists memories, newest first, or searches them (`q`), best first; by `agent_id` and `tag`",
    hasEtag: true,
    input: Type.Object(
      {
        q: optional(Type.String({ maxLength: 2_000 })),
        agent_id: optional(AgentId),
        tag: optional(Tag),
        ...pageFields,
      },
      closed,
    ),
    output: Type.Object({ memories: Type.Array(MemorySchema) }),
    async call({ memories }, { q = "", agent_id: agentId, tag, ...page }) {
      const filter = { ...(agentId === undefined ? {} : { agentId }), ...(tag === undefined ? {} : { tags: [tag] }) };
      const { limit, offset } = pageOf(page);
      if (q.trim() === "") {
        return { ok: true, value: { memories: (await memories.list(filter, { limit, offset })).map(wireOf) } };
      }
      const found = (await memories.find(q, filter, offset + limit)).slice(offset);
      return { ok: true, value: { memories: found.map((memory) => ({ ...wireOf(memory), score: memory.score })) } };
    },
  }),
  json({
    name: "memory.add",
    method: "POST",
    path: "/api/memory",
    scope: "operate",
    summary: "remembers a text (`{text, tags?, agent_id?}`); with `replaces`, in place of an earlier memory",
    input: Type.Object(
      {
        text: MemoryText,
        tags: optional(Type.Array(Tag, { maxItems: MAX_TAGS })),
        agent_id: optional(AgentId),
        replaces: optional(Id),
      },
      closed,
    ),
    output: AddedSchema,
    async call({ memories }, { text, tags = [], agent_id, replaces }, { principal }) {
      const replaced = replaces === undefined ? null : await memories.show(replaces);
      if (replaces !== undefined && replaced === null) return NO_SUCH_MEMORY;
      if (replaced?.text === null) return refuse("conflict", "the memory to be replaced was forgotten");
      if (replaced?.supersededBy) return refuse("conflict", `the memory was replaced by ${replaced.supersededBy}`);
      const { id, isNew } = await memories.add({
        ...{ agentId: agent_id ?? replaced?.agentId ?? DEFAULT_AGENT, owner: replaced?.owner ?? null },
        ...{ kind: "remembered", text, tags: tags.length === 0 ? (replaced?.tags ?? []) : tags },
        ...{ labels: USER_LABELS, source: null, origin: principal, supersedes: replaces ?? null },
      });
      return { ok: true, value: { id, added: isNew } };
    },
  }),
  json({
    name: "memory.import",
    method: "POST",
    path: "/api/memory/import",
    scope: "operate",
    summary:
      "remembers texts of files (`{items: [{text, origin, tags?}], agent_id?}`); what is remembered already is passed over",
    input: Type.Object(
      {
        items: Type.Array(
          Type.Object(
            {
              text: MemoryText,
              origin: Type.String({ minLength: 1, maxLength: MAX_NAME_CHARS }),
              tags: optional(Type.Array(Tag, { maxItems: MAX_TAGS })),
            },
            closed,
          ),
          { minItems: 1, maxItems: MAX_IMPORTED },
        ),
        agent_id: optional(AgentId),
      },
      closed,
    ),
    output: Type.Object({ added: Count, known: Count }),
    async call({ memories }, { items, agent_id: agentId = DEFAULT_AGENT }) {
      const added = await memories.addAll(
        items.map(({ text, origin, tags = [] }) => ({
          ...{ agentId, owner: null, kind: "imported", text, tags, labels: USER_LABELS },
          ...{ source: null, origin, supersedes: null },
        })),
      );
      const isNew = added.filter((each) => each.isNew).length;
      return { ok: true, value: { added: isNew, known: added.length - isNew } };
    },
  }),
  json({
    name: "memory.show",
    method: "GET",
    path: "/api/memory/{id}",
    scope: "operate",
    summary:
      "one memory: text, labels, where it comes from, and the runs whose model was given it or whose answer cites it",
    hasEtag: true,
    input: Type.Object({ id: Id }, closed),
    output: ShownSchema,
    async call({ memories }, { id }) {
      const memory = await memories.show(id);
      if (memory === null) return NO_SUCH_MEMORY;
      const uses = await memories.uses(id, { limit: MAX_RUNS, offset: 0 });
      const runs = uses.map(({ runId, isCited }) => ({ run_id: runId, cited: isCited }));
      return { ok: true, value: { ...wireOf(memory), runs } };
    },
  }),
  json({
    name: "memory.given",
    method: "GET",
    path: "/v1/runs/{id}/memories",
    scope: "operate",
    summary:
      "the memories that a run's model was given, which of them its answer cites, and the citations that it made up",
    hasEtag: true,
    input: Type.Object({ id: RunIdInput }, closed),
    output: Type.Object({
      memories: Type.Array(Type.Object({ id: Text, text: nullable(Text), cited: Type.Boolean() })),
      not_given: Type.Array(Text),
    }),
    async call({ memories, store }, { id }) {
      const run = await store.findRun(id);
      if (run === null) return refuse("not_found", "no such run");
      const { entries } = await readWholeJournal(store, id);
      const refs = [...entries.flatMap(refsOf), ...(run.answerRef === null ? [] : [run.answerRef])];
      const bodies = await readBodies(store, run.sessionId, [...new Set(refs)], id);
      const lookup = (ref: BodyRef): string | null => bodies.get(ref)?.text ?? null;
      const given = memoriesGiven(entries, lookup);
      const cited = memoriesCited(run.answerRef === null ? "" : (lookup(run.answerRef) ?? ""));
      const found = await Promise.all(given.map((memory) => memories.show(memory)));
      return {
        ok: true,
        value: {
          memories: given.map((memory, at) => {
            return { id: memory, text: found[at]?.text ?? null, cited: cited.includes(memory) };
          }),
          not_given: cited.filter((memory) => !given.includes(memory)),
        },
      };
    },
  }),
  json({
    name: "memory.forget",
    method: "DELETE",
    path: "/api/memory/{id}",
    scope: "operate",
    summary: "forgets a memory and what it replaced: text, index and vectors go, the id stays",
    input: Type.Object({ id: Id }, closed),
    output: Type.Object({ forgotten: Type.Array(Text) }),
    async call({ memories }, { id }, { principal }) {
      const forgotten = await memories.forget(asMemoryId(id), principal);
      return forgotten === null ? NO_SUCH_MEMORY : { ok: true, value: { forgotten: [...forgotten] } };
    },
  }),
] as const;

function wireOf(memory: StoredMemory): WireMemory {
  const { id, agentId, kind, text, tags, labels, owner, source, origin, createdAt } = memory;
  return {
    ...{ id, agent_id: agentId, kind, text, tags: [...tags], labels: { ...labels }, session_key: owner },
    source: source === null ? null : { run_id: source.runId, seq: source.seq },
    ...{ origin, created_at: createdAt, supersedes: memory.supersedes, superseded_by: memory.supersededBy },
    forgotten_at: memory.forgottenAt,
  };
}
