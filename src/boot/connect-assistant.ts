/**
 * The assistant of a home, for a command: through the gateway that runs on it, or opened here when none does.
 *
 * A1. The home's lock decides which: there is never a second writer.
 * A2. A store that fails is told of once, by the command that needed it; at the latest when it is closed.
 * A3. Opened here, only what the command itself starts is driven; what was left unfinished waits for the gateway.
 */
import type { Assistant } from "../assistant/assistant.ts";
import type { Approver } from "../runtime/ports/approver.ts";
import { noApprover } from "../runtime/ports/approver.ts";
import { StoreError } from "../runtime/ports/store.ts";
import { BootError, EXIT } from "./boot-error.ts";
import type { CommandContext } from "./command.ts";
import { findAddress, loadToken, withdrawAddress } from "./gateway-access.ts";
import { findExistingHome } from "./home.ts";
import { openSurety } from "./open-surety.ts";
import { defectReporter } from "./report-failure.ts";
import { loadSettings } from "./settings.ts";
import { systemClock } from "./system-clock.ts";
import { systemRandomness } from "./system-randomness.ts";

export interface ConnectedAssistant {
  readonly assistant: Assistant;
  readonly isRemote: boolean;
  close(): Promise<void>;
}

const STOP_GRACE_MS = 5_000;

/** `drives`: whether runs that can go on do so here, or wait for the gateway. */
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
    // We hold the lock, so no gateway runs here; whoever listens where the last one did must not be sent our token.
    await withdrawAddress(home);
    const close = async (): Promise<void> => {
      await surety.close(STOP_GRACE_MS);
      if (store.failure !== null) throw store.failure;
    };
    return { assistant: surety.assistant, isRemote: false, close };
  } catch (error) {
    if (!(error instanceof StoreError && error.code === "store.in-use")) throw error;
    const url = await findAddress(home);
    if (url === null) throw busyHome(error);
    const { createGatewayClient } = await import("../adapters/gateway-client/create-gateway-client.ts");
    return { assistant: createGatewayClient({ url, token }), isRemote: true, close: () => Promise.resolve() };
  }
}

/** For a command that asks or answers something and drives nothing: what can go on then does so at the next start. */
export async function withAssistant(
  context: CommandContext,
  use: (assistant: Assistant) => Promise<void>,
): Promise<number> {
  await findExistingHome(context.home);
  const { assistant, close } = await connectAssistant(context, noApprover, false);
  try {
    await use(assistant);
    return EXIT.success;
  } finally {
    await close();
  }
}

function busyHome(cause: unknown): BootError {
  return new BootError(
    "store.in-use",
    "another surety command is working on this home",
    "Wait until it has finished, or use another --home.",
    { cause },
  );
}
