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
import { findAddress, loadToken, withdrawAddress } from "./gateway-access.ts";
import { findExistingHome } from "./home.ts";
import { openSurety } from "./open-surety.ts";
import { defectReporter } from "./report-failure.ts";
import { loadSettings } from "./settings.ts";
import { systemClock } from "./system-clock.ts";
import { systemRandomness } from "./system-randomness.ts";

export interface ConnectedAssistant {
  readonly operations: OperationClient;
  readonly isRemote: boolean;
  close(): Promise<void>;
}

const STOP_GRACE_MS = 5_000;

/** `drives`: whether runs that can continue do so here, or wait for the gateway. */
export async function connectAssistant(
  context: CommandContext,
  approver: Approver,
  drives = true,
): Promise<ConnectedAssistant> {
  const { home, output, streams } = context;
  const { config, readVariable } = await loadSettings(context);
  const token = await loadToken(home, readVariable, systemRandomness);
  const store: { failure: unknown } = { failure: null };
  try {
    const surety = await openSurety({
      home,
      config,
      readVariable,
      token,
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
    // We hold the lock, so no gateway runs here. Another process may listen at its old address: it must not get our token.
    await withdrawAddress(home);
    const close = async (): Promise<void> => {
      await surety.close(STOP_GRACE_MS);
      if (store.failure !== null) throw store.failure;
    };
    return { operations: surety.operations, isRemote: false, close };
  } catch (error) {
    if (!(error instanceof StoreError && error.code === "store.in-use")) throw error;
    const url = await findAddress(home);
    if (url === null) throw busyHome(error);
    const { createGatewayClient } = await import("../adapters/gateway-client/create-gateway-client.ts");
    return { operations: createGatewayClient({ url, token }), isRemote: true, close: () => Promise.resolve() };
  }
}

/** For a command that drives nothing: runs that can continue do so at the next start. */
export async function withOperations(
  context: CommandContext,
  use: (operations: OperationClient) => Promise<void>,
): Promise<void> {
  await findExistingHome(context.home);
  const { operations, close } = await connectAssistant(context, noApprover, false);
  try {
    await use(operations);
  } finally {
    await close();
  }
}

/** The value of a call; a refusal is the command's error. */
export function valueIn<Value>(result: Result<Value>, hintFor: (code: string) => string): Value {
  if (result.ok) return result.value;
  throw new BootError(result.code, result.message, hintFor(result.code));
}

function busyHome(cause: unknown): BootError {
  return new BootError(
    "store.in-use",
    "another surety command is working on this home",
    "Wait until it has finished, or use another --home.",
    { cause },
  );
}
