/** Memory, through a gateway: told in one conversation, found in another, cited, forgotten. */
import { describe, expect, vi } from "vitest";
import { UNTRUSTED_LABELS, USER_LABELS } from "../../src/kernel/vocabulary/labels.ts";
import { memoryHash } from "../../src/runtime/memory/memory-rules.ts";
import { answer, type ServerScript } from "../loopback/openai-server.ts";
import { verifies } from "../requirements.ts";
import { newMemory } from "../runtime/store-contract/memories.ts";
import { openSocketStage, type SocketStage } from "./socket-stage.ts";

const FACT = "the boiler code is 4471";
const BLOCK = /=== RETRIEVED_MEMORY ===\n(.*)\n=== END_RETRIEVED_MEMORY ===/s;

/** Remembers what it is told to; otherwise repeats the first item of the block in its prompt, with its citation. */
const repeating: ServerScript = ({ body }) => {
  const messages = body.messages.map(({ role, content }) => ({ role, content: String(content) }));
  const last = messages.at(-1);
  if (last?.role === "tool") return answer({ text: "Noted." });
  const [, fact] = /^remember (.*)$/s.exec(last?.content ?? "") ?? [];
  if (fact !== undefined) return answer({ calls: [{ name: "memory.remember", arguments: { text: fact } }] });
  const block = messages.map(({ role, content }) => (role === "system" ? BLOCK.exec(content)?.[1] : null));
  const item = /^- id=(\S+) score=[\d.]+\n {2}(.*)$/m.exec(block.find((found) => found) ?? "");
  return answer({ text: item === null ? "I do not know." : `${item[2]} [mem:${item[1]}]` });
};

type Fields = Readonly<Record<string, unknown>>;

async function runTo(stage: SocketStage, message: string, more: Fields = {}): Promise<Fields> {
  const { status, json } = await stage.ask("POST", "/v1/runs", { message, agent_id: "main", ...more });
  expect([status, json]).toEqual([202, expect.anything()]);
  return await vi.waitFor(
    async () => {
      const { json: record } = await stage.ask("GET", `/v1/runs/${json["id"]}`);
      expect(["completed", "failed"]).toContain(record["status"]);
      return record;
    },
    { timeout: 30_000, interval: 2 },
  );
}

describe("a fact that was told", () => {
  verifies(
    ["S-5.1/ids", "S-5.1/prompt", "S-5.2/checked"],
    "is in the prompt of a later conversation, cited by its answer, and replays as it was",
    async () => {
      const stage = await openSocketStage(repeating);
      const told = await runTo(stage, `remember ${FACT}`);
      expect(told).toMatchObject({ outcome: "COMPLETED_WITH_TOOLS", output: "Noted." });
      const asked = await runTo(stage, "what was the boiler code again?");
      const { memories } = (await stage.ask("GET", "/api/memory?q=boiler")).json as { memories: readonly Fields[] };
      const [memory] = memories;
      expect(memory).toMatchObject({ text: FACT, kind: "remembered", source: { run_id: told["id"] } });
      const id = String(memory?.["id"]);
      expect(asked["output"]).toBe(`${FACT} [mem:${id}]`);
      const shown = (await stage.ask("GET", `/api/memory/${id}`)).json;
      expect(shown["runs"]).toEqual([
        { run_id: asked["id"], cited: true },
        { run_id: told["id"], cited: false },
      ]);
      // The entry that the memory names is the call's intent.
      const entries = await stage.surety.store.readEntries(
        told["id"] as never,
        Number((memory?.["source"] as Fields | undefined)?.["seq"]) - 1,
        1,
      );
      expect(JSON.parse(entries[0] ?? "")).toMatchObject({ kind: "EXECUTE", decided: { tool: "memory.remember" } });
      const bundle = await stage.ask("GET", `/v1/runs/${asked["id"]}/bundle`);
      expect(JSON.stringify(bundle.json)).toContain(`"retrieved":[{"id":"${id}","score":1}]`);
      const replayed = await stage.surety.operations.call("runs.replay", { id: asked["id"] as never });
      expect(replayed).toMatchObject({ ok: true, value: { outcome: "COMPLETED_CHAT_ONLY", diverged_at: null } });
      const sessions = await stage.ask("GET", `/api/sessions/${asked["session_id"]}`);
      expect(JSON.stringify(sessions.json)).toContain(`"memory_refs":["${id}"]`);
      expect(stage.defects).toEqual([]);
    },
  );

  verifies(
    ["S-5.1/prompt", "S-5.2/checked"],
    "in turn 3 is answered in turn 900 of the same conversation, with its citation",
    async () => {
      const stage = await openSocketStage(repeating);
      const first = await runTo(stage, "hello 1");
      const more = { session_id: first["session_id"] };
      await runTo(stage, "hello 2", more);
      await runTo(stage, `remember ${FACT}`, more);
      for (let turn = 4; turn < 900; turn += 1) await runTo(stage, `hello ${turn}`, more);
      const { output } = await runTo(stage, "what was the boiler code again?", more);
      expect(output).toMatch(new RegExp(`^${FACT} \\[mem:mem_[0-9a-f]+\\]$`));
    },
    240_000,
  );

  verifies(
    "S-5.2/checked",
    "a citation of what the run was not given is named as made up, and counts for nothing",
    async () => {
      const stage = await openSocketStage(() => answer({ text: "As I know [mem:mem_000000000000000000000001]." }));
      const { id } = (await stage.ask("POST", "/api/memory", { text: FACT })).json;
      const run = await runTo(stage, "something else entirely");
      expect((await stage.ask("GET", `/v1/runs/${run["id"]}/memories`)).json).toEqual({
        ...{ memories: [], not_given: ["mem_000000000000000000000001"] },
      });
      expect((await stage.ask("GET", `/api/memory/${id}`)).json["runs"]).toEqual([]);
    },
  );

  verifies("X-5", "a memory written from untrusted text makes the run untrusted that is given it", async () => {
    const stage = await openSocketStage(repeating);
    const { memories, store } = { memories: stage.surety.operations, store: stage.surety.store };
    await memories.call("memory.add", { text: "the door is green" });
    const untrusted = newMemory("the window code is 99", { labels: UNTRUSTED_LABELS });
    await store.commit([{ type: "add-memory", memory: untrusted, contentHash: memoryHash(untrusted) }], "barrier");
    const labelsOf = async (message: string) => {
      const { id } = await runTo(stage, message);
      return (await store.findRun(id as never))?.ended?.labels;
    };
    expect(await labelsOf("what about the door?")).toEqual(USER_LABELS);
    const latched = { integrity: "untrusted", confidentiality: "private" };
    expect(await labelsOf("what is the window code?")).toEqual(latched);
  });
});
