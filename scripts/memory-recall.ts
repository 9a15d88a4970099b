/**
 * `npm run recall`: how often a memory is among the first five that a question finds, by words alone, by vectors alone, and by
 * both merged. The set is generated here from fixed word lists: 600 facts about people, each with a name, a code and things
 * that have several words (test/loopback/embedding-server.ts), and three kinds of questions: by name or code, which an
 * embedding does not know; in other words for the same thing, which an index of words does not know; and a bit of both.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openAiEmbedder } from "../src/adapters/models/openai-embeddings.ts";
import { openSqliteStore } from "../src/adapters/store-sqlite/open-sqlite-store.ts";
import { EmbeddingIndex } from "../src/assistant/memory/embedding-index.ts";
import { Memories } from "../src/assistant/memory/memories.ts";
import { searchWords } from "../src/assistant/memory/search-words.ts";
import { systemClock } from "../src/boot/system-clock.ts";
import { systemRandomness } from "../src/boot/system-randomness.ts";
import { USER_LABELS } from "../src/kernel/vocabulary/labels.ts";
import { MEANINGS, startEmbeddingServer } from "../test/loopback/embedding-server.ts";

const FACTS = 600;
const SYLLABLES = ["ba", "do", "fe", "gi", "ku", "lo", "ma", "ne", "pi", "ru", "so", "ta", "vi", "zu"];
const VERBS = ["likes", "sold", "lost", "found", "painted", "repaired", "borrowed", "cleaned", "hid", "bought"];

interface Fact {
  readonly text: string;
  readonly questions: readonly string[];
}

const pick = <Item>(items: readonly Item[], at: number): Item => items[at % items.length] as Item;

/** A fixed sequence: the same set each time. */
function facts(): readonly Fact[] {
  let state = 20_261_119;
  const next = (): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return state >>> 8;
  };
  return Array.from({ length: FACTS }, () => {
    const name = pick(SYLLABLES, next()) + pick(SYLLABLES, next()) + pick(SYLLABLES, next());
    const code = `k${(next() % 900) + 100}`;
    const [thing, other] = [pick(MEANINGS, next()), pick(MEANINGS, next())];
    const verb = pick(VERBS, next());
    const third = pick(MEANINGS, next());
    return {
      text: `${name} ${verb} the ${pick(thing, 0)} near the ${pick(other, 0)} of the ${pick(third, 0)}, code ${code}`,
      questions: [
        `what about ${name} and ${code}?`,
        `who ${verb} a ${pick(thing, 1)} by the ${pick(other, 1)} of a ${pick(third, 2)}?`,
        `${name}: which ${pick(thing, 2)} by the ${pick(other, 2)}?`,
      ],
    };
  });
}

const directory = await mkdtemp(join(tmpdir(), "surety-recall-"));
const server = await startEmbeddingServer();
const store = await openSqliteStore({ home: directory, clock: systemClock, random: systemRandomness });
const embedder = openAiEmbedder({
  ...{ ref: "loop:embed", model: "embed", baseUrl: server.baseUrl, apiKey: null, clock: systemClock },
});
const index = new EmbeddingIndex({
  ...{ store, clock: systemClock, embedder, isBusy: () => false },
  onFailure: (error) => console.error(error),
});
const memories = new Memories({
  ...{ store, clock: systemClock, random: systemRandomness, index: () => Promise.resolve(index) },
  redactor: { redactText: (text) => ({ text, found: [] }) },
  limits: () => ({ maxItems: 5, maxTokens: 600 }),
});
try {
  const set = facts();
  await memories.addAll(
    set.map(({ text }) => ({
      ...{ agentId: "main", owner: null, kind: "imported", text, tags: [], labels: USER_LABELS },
      ...{ source: null, origin: "recall", supersedes: null },
    })),
  );
  while ((await store.unembeddedMemories(embedder.name, 1)).length > 0) {
    await new Promise((resolve) => systemClock.wake(50, () => resolve(null)));
  }
  const filter = { agentId: "main" };
  const ways: Readonly<Record<string, (question: string) => Promise<readonly { readonly text: string }[]>>> = {
    "words alone": (question) => store.searchMemories(searchWords(question), filter, 5),
    "vectors alone": async (question) => (await index.nearest(question, filter, 5)) ?? [],
    hybrid: (question) => memories.find(question, filter, 5),
  };
  const kinds = ["name or code", "other words", "a bit of both"];
  console.log(`recall@5 of ${FACTS} generated facts, ${FACTS * kinds.length} questions`);
  for (const [way, search] of Object.entries(ways)) {
    const hits = [0, 0, 0];
    for (const { text, questions } of set) {
      for (const [kind, question] of questions.entries()) {
        const found = await search(question);
        if (found.slice(0, 5).some((memory) => memory.text === text)) hits[kind] = (hits[kind] ?? 0) + 1;
      }
    }
    const all = hits.reduce((sum, count) => sum + count, 0) / (FACTS * kinds.length);
    const each = kinds.map((kind, at) => `${kind} ${((hits[at] ?? 0) / FACTS).toFixed(2)}`);
    console.log(`${way.padEnd(14)} ${all.toFixed(3)}   ${each.join(", ")}`);
  }
} finally {
  await index.close();
  await store.close();
  await server.close();
  await rm(directory, { recursive: true, force: true });
}
