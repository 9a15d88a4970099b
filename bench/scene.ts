/**
 * A home of its own in a temporary directory, with the whole assistant on it and the scripted model behind it.
 *
 * S1. Runs go through the assistant's own door (`submit`), and are over when their seal is durable.
 * S2. Nothing is streamed, unless the config and the task say so; the loops beside them do the same.
 */
import { mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Assistant } from "../src/assistant/runs/open-assistant.ts";
import type { RunRequest } from "../src/assistant/runs/run-request.ts";
import type { Config } from "../src/boot/config/config.ts";
import { DEFAULT_CONFIG } from "../src/boot/config/default-config.ts";
import { findHome, type Home, openHome } from "../src/boot/home.ts";
import { openSurety } from "../src/boot/open-surety.ts";
import type { Surety } from "../src/boot/opened-surety.ts";
import { systemClock } from "../src/boot/system-clock.ts";
import { systemRandomness } from "../src/boot/system-randomness.ts";
import { asRunId, type RunId } from "../src/kernel/vocabulary/identifiers.ts";
import { noApprover } from "../src/runtime/ports/approver.ts";
import type { Store, Write } from "../src/runtime/ports/store.ts";

export const FILES = 100;
/** The answer is a step too. */
export const stepsOf = (turns: number): number => turns + 1;

export interface Task {
  readonly turns: number;
  readonly tool: "fs.read_text" | "fs.write_text";
  /** Somebody watches, so that the text is released. */
  readonly isWatched?: boolean;
}

export interface Scene {
  readonly home: Home;
  readonly surety: Surety;
  /** Ends when the run's end is durable. */
  run(task: Task): Promise<void>;
  submit(request: Partial<RunRequest> & { readonly message: string }): Promise<void>;
  close(): Promise<void>;
}

export function configFor(baseUrl: string, isStreamed = false): Config {
  return {
    ...DEFAULT_CONFIG,
    models: {
      default: "bench:scripted",
      providers: {
        bench: {
          enabled: true,
          kind: "openai_compatible",
          baseUrl,
          local: true,
          startupValidation: "off",
          defaults: {},
          models: {
            scripted: {
              contextWindow: 1_000_000,
              maxOutputTokens: 2048,
              supportsTools: true,
              supportsStreaming: isStreamed,
              supportsVision: false,
              free: true,
            },
          },
        },
      },
    },
  };
}

export async function temporaryDirectory(): Promise<string> {
  return await mkdtemp(join(tmpdir(), "surety-bench-"));
}

export const removeDirectory = (directory: string): Promise<void> => rm(directory, { recursive: true, force: true });

/** With the small files that the scripted model asks for. */
export async function makeHome(directory: string): Promise<Home> {
  const home = findHome(directory, () => undefined);
  await openHome(home);
  await mkdir(home.workspace, { recursive: true });
  for (let file = 0; file < FILES; file += 1) {
    const number = String(file).padStart(3, "0");
    await writeFile(join(home.workspace, `n${number}.txt`), `a short note, number ${number}\n`);
  }
  return home;
}

export async function openScene(home: Home, config: Config): Promise<Scene> {
  let isClosing = false;
  const surety = await openSurety({
    home,
    config,
    readVariable: () => undefined,
    clock: systemClock,
    random: systemRandomness,
    token: null,
    approver: noApprover,
    onDefect: (errorId, error) => console.error(errorId, error),
    onStoreFailure: (error) => {
      // A store that was closed says so too.
      if (!isClosing) throw error;
    },
  });
  const ends = watchSeals(surety.store);
  const { turnsRun, submit } = runnerOf(surety, ends);
  const watchdog = setInterval(() => reportStuck(surety.store, ends), WATCH_MS).unref();
  const close = (): Promise<void> => {
    isClosing = true;
    clearInterval(watchdog);
    return surety.close(1000);
  };
  return { home, surety, run: turnsRun, submit, close };
}

const WATCH_MS = 30_000;
const STUCK_MS = 60_000;

interface End {
  readonly since: number;
  resolve(outcome: string): void;
}

type Ends = Map<string, End>;

/** A run that does not end would hang the bench without a word. */
async function reportStuck(store: Store, ends: Ends): Promise<void> {
  for (const [runId, { since, resolve }] of ends) {
    if (performance.now() - since < STUCK_MS) continue;
    const last = (await store.readEntries(asRunId(runId), 0, 1000)).at(-1);
    resolve(`not at all: ${(await store.findRun(asRunId(runId)))?.status}, last entry ${last ?? "none"}`);
  }
}

/** A watcher of the assistant's costs something; so the end is heard where it is written. */
function watchSeals(store: Store): Ends {
  const ends: Ends = new Map();
  const commit = store.commit.bind(store);
  store.commit = (writes, urgency) => {
    const committed = commit(writes, urgency);
    const seal = writes.find((write): write is Extract<Write, { type: "seal-run" }> => write.type === "seal-run");
    if (seal !== undefined) {
      committed.then(
        () => ends.get(seal.runId)?.resolve(`${seal.outcome} ${seal.reason ?? ""}`),
        () => {},
      );
    }
    return committed;
  };
  return ends;
}

const REQUEST: Omit<RunRequest, "message"> = {
  agentId: "main",
  sessionId: null,
  model: null,
  thinkingMode: null,
  contract: { maxInferences: 1000, maxTokensConsumed: 1_000_000_000 },
  approvedTools: [],
  source: "cli",
  principal: "operator",
  idempotencyKey: null,
};

function runnerOf({ assistant }: Surety, ends: Ends) {
  let folders = 0;
  const submit = async (
    request: Partial<RunRequest> & { readonly message: string },
    isWatched = false,
  ): Promise<void> => {
    const submission = await assistant.submit({ ...REQUEST, ...request });
    if (!submission.ok) throw new Error(`refused: ${submission.message}`);
    const heard = isWatched ? hear(assistant, submission.runId) : null;
    const outcome = await new Promise<string>((resolve) => {
      ends.set(submission.runId, { since: performance.now(), resolve });
    });
    ends.delete(submission.runId);
    if (!outcome.startsWith("COMPLETED_")) throw new Error(`the run ended ${outcome}`);
    if ((await heard) === "") throw new Error("nothing was streamed");
  };
  const turnsRun = ({ turns, tool, isWatched }: Task): Promise<void> => {
    folders += 1;
    const message = `turns=${turns} tool=${tool} folder=run-${folders}`;
    return submit({ message, approvedTools: tool === "fs.write_text" ? [tool] : [] }, isWatched);
  };
  return { turnsRun, submit };
}

/** All the text of a run, to its end. */
async function hear(assistant: Assistant, runId: RunId): Promise<string> {
  let text = "";
  for await (const news of (await assistant.watch(runId, 0, new AbortController().signal)) ?? []) {
    if (news.kind === "delta") text += news.text;
  }
  return text;
}

export async function databaseBytes({ database }: Home): Promise<number> {
  return (await stat(database)).size;
}
