/**
 * The operations of a home, for a command: through the gateway that runs on it, or in process when none does.
 *
 * A1. The home's lock decides which: there is never a second writer.
 * A2. A store failure is reported once, by the command that needed the store; at the latest when it is closed.
 * A3. In process only runs that the command starts are driven; other unfinished runs wait for the gateway.
 */
import type { OperationClient } from "../assistant/operations.ts";
import type { Result } from "../runtime/operations/operation.ts";
import type { Approver } from "../runtime/ports/approver.ts";
import { noApprover } from "../runtime/ports/approver.ts";
import { StoreError } from "../runtime/ports/store.ts";
import { BootError } from "./boot-error.ts";
import type { CommandContext } from "./command.ts";
import { readCertificate } from "./exposure.ts";
import { findAddress, loadToken, tokenWriter } from "./gateway-access.ts";
import { findExistingHome } from "./home.ts";
import { openSurety } from "./open-surety.ts";
import { defectReporter } from "./report-failure.ts";
import { loadSettings } from "./settings.ts";
import { findSigningKey, keyMissing } from "./signing-key.ts";
import { systemClock } from "./system-clock.ts";
import { systemRandomness } from "./system-randomness.ts";

export interface ConnectedAssistant {
  readonly operations: OperationClient;
  readonly isRemote: boolean;
  close(): Promise<void>;
}

const STOP_GRACE_MS = 5_000;
const NONCE_BYTES = 32;

export interface Connecting {
  /** Whether runs that can continue do so here, or wait for the gateway. */
  readonly drives: boolean;
  /** The gateway was lost while a run is watched, or is back. */
  readonly onConnection?: (state: "lost" | "back") => void;
  /** Tools work there instead of where the config says; absolute. */
  readonly workspace?: string;
}

export async function connectAssistant(
  context: CommandContext,
  approver: Approver,
  { drives, workspace, onConnection = () => {} }: Connecting,
): Promise<ConnectedAssistant> {
  const { home, output, streams } = context;
  const { config: configured, readVariable } = await loadSettings(context);
  const config = workspace === undefined ? configured : { ...configured, tools: { ...configured.tools, workspace } };
  const token = await loadToken(home, readVariable, systemRandomness);
  const store: { failure: unknown } = { failure: null };
  try {
    const surety = await openSurety({
      home,
      config,
      readVariable,
      token,
      replaceToken: tokenWriter(home, readVariable, systemRandomness),
      approver,
      ...(drives ? {} : { workers: 0 }),
      clock: systemClock,
      random: systemRandomness,
      onDefect: defectReporter(streams),
      onStoreFailure: (error) => {
        store.failure = error;
      },
      remark: (line) => output.remark(line),
    });
    const close = async (): Promise<void> => {
      await surety.close(STOP_GRACE_MS);
      if (store.failure !== null) throw store.failure;
    };
    return { operations: surety.operations, isRemote: false, close };
  } catch (error) {
    if (!(error instanceof StoreError && error.code === "store.in-use")) throw error;
    if ((await findAddress(home)) === null) throw busyHome(error);
    if (workspace !== undefined) throw workspaceOfGateway(error);
    const key = await findSigningKey(home);
    if (key === null) throw keyMissing(home);
    const { createGatewayClient } = await import("../adapters/gateway-client/create-gateway-client.ts");
    const operations = createGatewayClient({
      find: () => findAddress(home),
      newNonce: () => Buffer.from(systemRandomness(NONCE_BYTES)).toString("base64url"),
      certificate: async () => (await readCertificate(config.gateway, home))?.cert ?? null,
      ...{ token, key, onConnection },
    });
    return { operations, isRemote: true, close: () => Promise.resolve() };
  }
}

/** For a command that drives nothing: runs that can continue do so at the next start. */
export async function withOperations(
  context: CommandContext,
  use: (operations: OperationClient, isRemote: boolean) => Promise<void>,
): Promise<void> {
  await findExistingHome(context.home);
  const { operations, isRemote, close } = await connectAssistant(context, noApprover, { drives: false });
  try {
    await use(operations, isRemote);
  } finally {
    await close();
  }
}

/** The value of a call; a refusal is the command's error. */
export function valueIn<Value>(result: Result<Value>, hintFor: (code: string) => string): Value {
  if (result.ok) return result.value;
  throw new BootError(result.code, result.message, hintFor(result.code));
}

function workspaceOfGateway(cause: unknown): BootError {
  const hint = "Stop the gateway first, or give it that one: surety config set tools.workspace DIR, and restart it.";
  return new BootError("usage", "--workspace has no effect on the gateway that runs on this home", hint, { cause });
}

function busyHome(cause: unknown): BootError {
  return new BootError(
    "store.in-use",
    "another surety command is working on this home",
    "Wait until it has finished, or use another --home.",
    { cause },
  );
}
