/**
 * A million memories beside ten thousand: a search for words that few of them have, which may cost twenty times as much; the
 * nearest of a million vectors; and how long notes of a hundred thousand memories take to import with one command.
 */
import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { openSqliteStore, type SqliteStore } from "../../src/adapters/store-sqlite/open-sqlite-store.ts";
import { systemClock } from "../../src/boot/system-clock.ts";
import { systemRandomness } from "../../src/boot/system-randomness.ts";
import { asMemoryId } from "../../src/kernel/vocabulary/identifiers.ts";
import { USER_LABELS } from "../../src/kernel/vocabulary/labels.ts";
import { memoryHash } from "../../src/runtime/memory/memory-rules.ts";
import type { Write } from "../../src/runtime/ports/store.ts";
import type { NewMemory } from "../../src/runtime/ports/stored-memory.ts";
import { elapsedMs } from "../blocks.ts";
import type { BenchWorld, Figure } from "../figure.ts";
import type { Row } from "../row.ts";
import { makeHome, removeDirectory, temporaryDirectory } from "../scene.ts";

const BATCH = 2_000;
const DIMENSIONS = 384;
const SEARCHES = 200;
const NEAREST = 5;
const MOST_SLOWER = 20;
const WORDS = "house garden street letter doctor boss holiday dinner money friend sofa film bike gift road shop".split(
  " ",
);
const MODEL = "bench:embed";
const run = promisify(execFile);

export const memories: Figure = { name: "memories", measure };

async function measure({ isQuick }: BenchWorld): Promise<readonly Row[]> {
  const [few, many, imported] = isQuick ? [1_000, 50_000, 5_000] : [10_000, 1_000_000, 100_000];
  const directory = await temporaryDirectory();
  try {
    const small = await filled(join(directory, "few"), few);
    const large = await filled(join(directory, "many"), many);
    const [atFew, atMany] = [await searchP95(small, few), await searchP95(large, many)];
    const nearest = await nearestMs(large);
    await Promise.all([small.close(), large.close()]);
    const counted = (count: number): string => count.toLocaleString("en");
    return [
      {
        ...{
          name: `${counted(many)} memories ÷ ${counted(few)}: p95 of a search`,
          value: atMany / atFew,
          spread: 0,
          unit: "",
        },
        bound: { is: "at most", must: MOST_SLOWER },
        note: `${atMany.toFixed(2)} ms against ${atFew.toFixed(2)} ms`,
      },
      plain(`nearest of ${counted(many)} vectors`, nearest, "ms", `${DIMENSIONS} dimensions, the median of ${NEAREST}`),
      await importRow(directory, imported),
    ];
  } finally {
    await removeDirectory(directory);
  }
}

const plain = (name: string, value: number, unit: string, note: string): Row => {
  return { name, value, spread: 0, unit, bound: null, note };
};

async function filled(home: string, count: number): Promise<SqliteStore> {
  await mkdir(home);
  const store = await openSqliteStore({ home, clock: systemClock, random: systemRandomness });
  for (let from = 0; from < count; from += BATCH) {
    const numbers = Array.from({ length: Math.min(BATCH, count - from) }, (_, at) => from + at);
    const vectors = numbers.map((number) => ({ position: number + 1, vector: vectorOf(number) }));
    await store.commit([...numbers.map(addOf), { type: "put-memory-vectors", model: MODEL, vectors }], "barrier");
  }
  return store;
}

function addOf(number: number): Write {
  const word = (step: number): string => WORDS[Math.floor(number / step) % WORDS.length] ?? "";
  const text = `note ${number}: the ${word(1)} near the ${word(16)} of the ${word(256)}, code k${number} group g${number % 5_000}`;
  const memory: NewMemory = {
    ...{
      id: asMemoryId(`mem_${number.toString(16).padStart(24, "0")}`),
      agentId: "main",
      owner: null,
      kind: "imported",
    },
    ...{ text, tags: [], labels: USER_LABELS, source: null, origin: "bench", supersedes: null },
    createdAt: "2026-01-01T00:00:00.000Z",
  };
  return { type: "add-memory", memory, contentHash: memoryHash(memory) };
}

/** A fixed direction for each number. */
function vectorOf(number: number): string {
  const bytes = Buffer.alloc(DIMENSIONS);
  let state = number + 1;
  for (let at = 0; at < DIMENSIONS; at += 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes[at] = state >>> 24;
  }
  return bytes.toString("base64");
}

/** One memory has the code; a two-hundredth of the few, and of the many, has the group. */
async function searchP95(store: SqliteStore, count: number): Promise<number> {
  const times: number[] = [];
  for (let search = 0; search < SEARCHES; search += 1) {
    const number = (search * 7_919) % count;
    const words = [`k${number}`, `g${number % 5_000}`];
    times.push(
      await elapsedMs(async () => {
        const found = await store.searchMemories(words, { agentId: "main" }, 50);
        if (!found[0]?.text.includes(`code k${number} `)) throw new Error(`the search found ${found[0]?.text}`);
      }),
    );
  }
  // The first ones read the index from the disk.
  return times.slice(SEARCHES / 10).sort((a, b) => a - b)[Math.floor(SEARCHES * 0.9 * 0.95)] ?? 0;
}

async function nearestMs(store: SqliteStore): Promise<number> {
  const times: number[] = [];
  for (let search = 0; search < NEAREST; search += 1) {
    times.push(await elapsedMs(() => store.nearestMemories(MODEL, vectorOf(search), { agentId: "main" }, 50)));
  }
  return times.sort((a, b) => a - b)[Math.floor(NEAREST / 2)] ?? 0;
}

const PER_FILE = 1_000;

async function importRow(directory: string, count: number): Promise<Row> {
  const notes = join(directory, "notes");
  await mkdir(notes);
  for (let file = 0; file < count / PER_FILE; file += 1) {
    const pieces = Array.from(
      { length: PER_FILE },
      (_, at) => `## Note ${at}\n\nThe ${WORDS[at % WORDS.length]} has code k${file}x${at}.\n`,
    );
    await writeFile(join(notes, `${file}.md`), pieces.join("\n"));
  }
  const home = await makeHome(join(directory, "importing"));
  const command = ["memory", "import", notes, "--home", home.directory, "--json"];
  let added = 0;
  const ms = await elapsedMs(async () => {
    const surety = join(import.meta.dirname, "..", "..", "src", "boot", "surety.ts");
    const { stdout } = await run(process.execPath, [surety, ...command]);
    added = (JSON.parse(stdout) as { readonly added: number }).added;
  });
  if (added !== count) throw new Error(`${added} of ${count} memories were imported`);
  return plain(`import of ${count.toLocaleString("en")} memories`, ms / 1_000, "s", "one command, from Markdown");
}
