/**
 * A home with a hundred thousand idle sessions beside one with a hundred: the start, and the memory of a gateway that has
 * started and listed the newest ten. Each session has a title, a route, a checkpoint and two turns, written
 * by the store in bulk.
 */
import { join } from "node:path";
import { openSqliteStore } from "../../src/adapters/store-sqlite/open-sqlite-store.ts";
import { sessionKey } from "../../src/assistant/sessions/session-key.ts";
import { systemClock } from "../../src/boot/system-clock.ts";
import { systemRandomness } from "../../src/boot/system-randomness.ts";
import { asSessionId } from "../../src/kernel/vocabulary/identifiers.ts";
import type { Write } from "../../src/runtime/ports/store.ts";
import { elapsedMs, measureBlocks, ratioOf } from "../blocks.ts";
import type { BenchWorld, Figure } from "../figure.ts";
import { residentBytes, type Served, startGateway, tokenOf } from "../gateway-process.ts";
import { getOnce } from "../http-load.ts";
import type { Row } from "../row.ts";
import { makeHome, removeDirectory, temporaryDirectory } from "../scene.ts";

const FEW = 100;
const AT_ONCE = 1000;
const LISTS = 20;
const CREATED_AT = "2026-01-01T00:00:00.000Z";
const MIB = 2 ** 20;

export const sessions: Figure = { name: "sessions", measure };

async function measure({ isQuick, blocks }: BenchWorld): Promise<readonly Row[]> {
  const many = isQuick ? 10_000 : 100_000;
  const directory = await temporaryDirectory();
  const homes = { full: join(directory, "full"), fresh: join(directory, "fresh") };
  try {
    await fill(homes.full, many);
    await fill(homes.fresh, FEW);
    const compare = async (name: string, costOf: (home: string) => () => Promise<number>): Promise<Row> => {
      return {
        name: `${many.toLocaleString("en")} idle sessions ÷ ${FEW}: ${name}`,
        ...ratioOf(await measureBlocks(blocks, costOf(homes.full), costOf(homes.fresh))),
        unit: "",
        bound: { is: "at most", must: 1.2 },
        note: "",
      };
    };
    return [
      await compare("start", (home) => () => startMs(home)),
      await compare("resident memory", (home) => () => residentMib(home)),
    ];
  } finally {
    await removeDirectory(directory);
  }
}

async function fill(directory: string, count: number): Promise<void> {
  await makeHome(directory);
  // The first start makes what a home has beside its database.
  await (await startGateway(directory)).child.stop();
  const store = await openSqliteStore({ home: directory, clock: systemClock, random: systemRandomness });
  for (let from = 0; from < count; from += AT_ONCE) {
    const numbers = Array.from({ length: Math.min(AT_ONCE, count - from) }, (_, at) => from + at);
    await store.commit(numbers.flatMap(idleSession), "barrier");
  }
  await store.close();
}

function idleSession(number: number): readonly Write[] {
  const sessionId = asSessionId(`session_${String(number).padStart(24, "0")}`);
  const senderId = `sender${number}`;
  const key = sessionKey({ agentId: "main", channel: "telegram", kind: "dm", peer: senderId });
  const said = { askedAt: CREATED_AT, answeredAt: CREATED_AT, asked: "What is next?", calls: [], answered: "Lunch." };
  const turns = [JSON.stringify(said), JSON.stringify(said)];
  const state = JSON.stringify({ goals: ["eat"], openLoops: [], decisions: [], constraints: [], episodeSummary: "" });
  const checkpoint = { revision: 1, updatedAt: CREATED_AT, state, summary: null, condensedThrough: 0 };
  return [
    {
      type: "insert-session",
      session: { sessionId, agentId: "main", key, channel: "telegram", senderId, createdAt: CREATED_AT },
    },
    { type: "route-session", sessionId, at: CREATED_AT },
    { type: "change-session", sessionId, title: `Talk ${number}`, settings: {}, at: CREATED_AT },
    { type: "import-turns", sessionId, source: `bench:${number}`, activeAt: CREATED_AT, turns, messages: 4 },
    { type: "write-checkpoint", sessionId, checkpoint },
  ];
}

async function startMs(home: string): Promise<number> {
  let total = 0;
  for (let count = 0; count < 3; count += 1) {
    let up: Served | null = null;
    total += await elapsedMs(async () => {
      up = await startGateway(home);
    });
    await (up as Served | null)?.child.stop();
  }
  return total / 3;
}

async function residentMib(home: string): Promise<number> {
  const { child, url } = await startGateway(home);
  const headers = { authorization: `Bearer ${await tokenOf(home)}` };
  for (let count = 0; count < LISTS; count += 1) await getOnce(`${url}/api/sessions?limit=10`, headers);
  const resident = (await residentBytes(child.pid)) / MIB;
  await child.stop();
  return resident;
}
