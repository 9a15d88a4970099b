/** The store's contract: memories. */
import { describe, expect, test } from "vitest";
import { asMemoryId, type MemoryId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { UNTRUSTED_LABELS, USER_LABELS } from "../../../src/kernel/vocabulary/labels.ts";
import { memoryHash } from "../../../src/runtime/memory/memory-rules.ts";
import type { Write } from "../../../src/runtime/ports/store.ts";
import type { NewMemory } from "../../../src/runtime/ports/stored-memory.ts";
import { verifies } from "../../requirements.ts";
import type { StoreFixture } from "./store-fixture.ts";

const AT = "2026-11-19T00:00:00.000Z";
let made = 0;

export function newMemory(text: string, also: Partial<NewMemory> = {}): NewMemory {
  made += 1;
  return {
    ...{ id: asMemoryId(`mem_${made.toString(16).padStart(24, "0")}`), agentId: "main", owner: null },
    ...{ kind: "remembered", text, tags: [], labels: USER_LABELS, source: null, origin: "operator" },
    ...{ createdAt: AT, supersedes: null, ...also },
  };
}

function adds(memory: NewMemory): Write {
  return { type: "add-memory", memory, contentHash: memoryHash(memory) };
}

function forgets(...memoryIds: MemoryId[]): Write {
  return { type: "forget-memory", draft: { kind: "memory.forgotten", ts: AT, actor: "operator", data: { memoryIds } } };
}

export function describeMemories(fixture: StoreFixture): void {
  const { barrier, insertRun } = fixture;
  const found = async (terms: readonly string[], filter = {}) =>
    (await fixture.store.searchMemories(terms, filter, 10)).map(({ text }) => text);

  describe("memories", () => {
    test("one is kept as it was added, and found by its words", async () => {
      const { runId } = await insertRun();
      const memory = newMemory("the boiler code is 4471", { source: { runId, seq: 7 }, tags: ["house"] });
      await barrier(adds(memory));
      expect(await fixture.store.hasMemories()).toBe(true);
      const stored = { ...memory, supersededBy: null, forgottenAt: null };
      expect(await fixture.store.findMemory(memory.id)).toEqual(stored);
      expect(await fixture.store.searchMemories(["boilers"], {}, 10)).toEqual([
        { ...stored, position: expect.any(Number), bm25: expect.any(Number) },
      ]);
      expect(await found(["house"])).toEqual([memory.text]);
      expect(await found(["nothing", "like", "it"])).toEqual([]);
      expect(await found(['"', "*", "NEAR("])).toEqual([]);
    });

    test("a repeat, and a text that is remembered already, change nothing", async () => {
      const memory = newMemory("said twice over");
      await barrier(adds(memory));
      await barrier(adds(memory));
      const again = newMemory("said twice over");
      await barrier(adds(again));
      expect(await found(["twice"])).toEqual(["said twice over"]);
      expect(await fixture.store.findMemory(again.id)).toBeNull();
      expect(await fixture.store.findMemoryLike(memoryHash(again))).toBe(memory.id);
      await barrier(adds(newMemory("said twice over", { agentId: "other" })));
      expect(await found(["twice"], { agentId: "other" })).toHaveLength(1);
    });

    test("agent, owner, tags and labels narrow a search and a list", async () => {
      const all = [
        newMemory("zebra one", { agentId: "zoo" }),
        newMemory("zebra two", { agentId: "zoo", owner: "agent:zoo:crm:default:dm:anna", labels: UNTRUSTED_LABELS }),
        newMemory("zebra three", { agentId: "zoo", tags: ["fast", "striped"] }),
      ];
      await barrier(...all.map(adds));
      expect(await found(["zebra"], { agentId: "zoo", owner: null })).toEqual(["zebra one", "zebra three"]);
      expect(await found(["zebra"], { owner: "agent:zoo:crm:default:dm:anna" })).toEqual(["zebra two"]);
      expect(await found(["zebra"], { tags: ["striped", "fast"] })).toEqual(["zebra three"]);
      expect(await found(["zebra"], { tags: ["fas"] })).toEqual([]);
      expect(
        await found(["zebra"], { integrity: ["user"], confidentiality: ["private"], agentId: "zoo" }),
      ).toHaveLength(2);
      const listed = await fixture.store.listMemories({ agentId: "zoo" }, { limit: 2, offset: 1 });
      expect(listed.map(({ text }) => text)).toEqual(["zebra two", "zebra one"]);
    });

    test("one that supersedes another takes its place; what was replaced is not replaced again", async () => {
      const first = newMemory("quokka lives here");
      const second = newMemory("quokka has moved", { supersedes: first.id });
      await barrier(adds(first));
      await barrier(adds(second));
      expect(await found(["quokka"])).toEqual(["quokka has moved"]);
      expect(await fixture.store.findMemory(first.id)).toMatchObject({ text: first.text, supersededBy: second.id });
      const third = adds(newMemory("quokka came back", { supersedes: first.id }));
      await expect(barrier(third)).rejects.toMatchObject({ code: "store.conflict" });
      const missing = adds(newMemory("of nothing", { supersedes: asMemoryId("mem_0") }));
      await expect(barrier(missing)).rejects.toMatchObject({ code: "store.conflict" });
    });

    verifies("X-25", "a forgotten memory leaves its id, and an entry in the ledger", async () => {
      const memory = newMemory("wombat in the cellar", { tags: ["cellar"] });
      await barrier(adds(memory));
      await barrier({
        ...{ type: "put-memory-vectors", model: "m" },
        vectors: [
          { position: (await fixture.store.searchMemories(["wombat"], {}, 1))[0]?.position ?? 0, vector: "AQI=" },
        ],
      });
      const { seq } = await fixture.store.ledgerHead();
      await barrier(forgets(memory.id));
      await barrier(forgets(memory.id));
      expect(await fixture.store.findMemory(memory.id)).toMatchObject({ text: null, tags: [], forgottenAt: AT });
      expect(await found(["wombat", "cellar"])).toEqual([]);
      expect(await fixture.store.findMemoryLike(memoryHash(memory))).toBeNull();
      const entries = await fixture.store.readLedger(seq, 10);
      expect(entries.map(({ kind }) => kind)).toEqual(["memory.forgotten"]);
    });

    test("a run cites only what it was given", async () => {
      const { runId } = await insertRun();
      const [given, cited, made] = [newMemory("given"), newMemory("cited"), newMemory("made up")];
      await barrier(adds(given), adds(cited), adds(made));
      await barrier({ type: "use-memories", runId, retrieved: [given.id, cited.id], cited: [] });
      await barrier({ type: "use-memories", runId, retrieved: [], cited: [cited.id, made.id] });
      const page = { limit: 10, offset: 0 };
      expect(await fixture.store.memoryUses(given.id, page)).toEqual([{ runId, isCited: false }]);
      expect(await fixture.store.memoryUses(cited.id, page)).toEqual([{ runId, isCited: true }]);
      expect(await fixture.store.memoryUses(made.id, page)).toEqual([]);
    });

    test("another model begins with the first memory, and the vectors of the one before are dropped", async () => {
      const [one, two] = await fixture.store.unembeddedMemories("first", 2);
      const vectors = [one, two].map((each) => ({ position: each?.position ?? 0, vector: "AQI=" }));
      await barrier({ type: "put-memory-vectors", model: "first", vectors });
      expect((await fixture.store.unembeddedMemories("first", 1))[0]?.position).toBeGreaterThan(two?.position ?? 0);
      expect((await fixture.store.unembeddedMemories("second", 1))[0]).toEqual(one);
      await barrier({ type: "put-memory-vectors", model: "second", vectors });
      expect((await fixture.store.unembeddedMemories("first", 1))[0]).toEqual(one);
    });
  });
}
