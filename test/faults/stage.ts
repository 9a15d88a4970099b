/**
 * Where a fault is staged: a home in a temporary directory, the outside ledger, a scripted model, and the real gateway
 * on them. Everything is gone when the stage is closed.
 */
import { spawn } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type OpenAiServer, type ServerScript, startOpenAiServer } from "../loopback/openai-server.ts";
import { derive } from "../simulate/random.ts";
import { type EffectLedger, openEffectLedger } from "./effect-ledger.ts";
import { type Ending, type GatewayProcess, startGateway, VARIABLES } from "./gateway-process.ts";
import type { GatewayProgram } from "./gateway-program.ts";
import { readAsked, stepOf } from "./job.ts";
import { Operator } from "./operator.ts";

export interface Stage {
  readonly home: string;
  readonly ledger: EffectLedger;
  readonly operator: Operator;
  readonly model: OpenAiServer;
  start(options?: StartOptions): Promise<GatewayProcess>;
  /** SIGKILL; afterwards everything the process had done is known. */
  kill(gateway: GatewayProcess): Promise<Ending>;
  /** Any other command on this home. */
  surety(...words: readonly string[]): Promise<{ readonly code: number | null; readonly output: string }>;
  close(): Promise<void>;
}

export interface StartOptions {
  readonly workers?: number;
  /** Command words before the gateway's own, such as those of strace. */
  readonly below?: readonly string[];
  /** SIGKILL so long after it was started, ready or not. */
  readonly dieAfterMs?: number;
}

interface StageOptions {
  readonly program: GatewayProgram;
  readonly seed: number;
  readonly script?: ServerScript;
  /** A home to begin with a copy of. */
  readonly from?: string | undefined;
  /** Where the home shall be, when not in a temporary directory. */
  readonly home?: string;
  /** Beside the scripted one. */
  readonly providers?: Readonly<Record<string, unknown>>;
  readonly queue?: number;
  /** How long the n-th effect takes; null: for ever. */
  readonly effectMs?: (effect: number) => number | null;
}

const MAX_EFFECT_MS = 40;
const MODEL = { contextWindow: 32_768, maxOutputTokens: 2_048 };

export async function openStage(options: StageOptions): Promise<Stage> {
  const { program, seed, providers = {} } = options;
  const effectMs = options.effectMs ?? ((effect: number) => derive(seed, "effect", effect).between(0, MAX_EFFECT_MS));
  const scratch = await mkdtemp(join(tmpdir(), "surety-faults-"));
  const home = options.home ?? join(scratch, "home");
  const ledger = await openEffectLedger(effectMs);
  const model = await startOpenAiServer(options.script ?? ((request) => stepOf(readAsked(request))), {
    keepsRequests: false,
  });
  const provider = { kind: "openai_compatible", baseUrl: model.baseUrl, local: true, models: { scripted: MODEL } };
  if (options.from === undefined) await mkdir(home, { recursive: true });
  else await cp(options.from, home, { recursive: true });
  await writeFile(
    join(home, "surety.json5"),
    JSON.stringify({
      models: { default: "loop:scripted", providers: { loop: provider, ...providers } },
      approvals: { timeoutS: 86_400 },
      tools: { policy: { allow: ["test.*"] } },
      gateway: { queue: { max: options.queue ?? 1_000 } },
    }),
  );
  const base = [process.execPath, program.file, ledger.url];
  return {
    home,
    ledger,
    operator: new Operator(ledger, seed),
    model,
    start: ({ workers = 64, below = [], dieAfterMs } = {}) => {
      const words = ["start", "--home", home, "--port", "0", "--workers", String(workers)];
      return startGateway([...below, ...base, ...words], dieAfterMs);
    },
    kill: async (gateway) => {
      const ending = gateway.kill();
      ledger.orphan();
      await ending;
      await ledger.settled();
      return ending;
    },
    surety: (...words) => perform([...base, ...words, "--home", home]),
    close: async () => {
      await Promise.all([ledger.close(), model.close()]);
      await rm(scratch, { recursive: true, force: true });
    },
  };
}

function perform([program = "", ...words]: readonly string[]) {
  return new Promise<{ readonly code: number | null; readonly output: string }>((resolve, reject) => {
    const child = spawn(program, words, { stdio: ["ignore", "pipe", "pipe"], env: VARIABLES });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk: Buffer) => {
        output += chunk.toString();
      });
    }
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, output: output.trim() }));
  });
}
