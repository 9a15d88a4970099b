/** A home with a webhook, opened in this process: messages are handed to the operation that the gateway calls. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { onTestFinished, vi } from "vitest";
import type { Config } from "../../src/boot/config/config.ts";
import { readConfig } from "../../src/boot/config/read-config.ts";
import { openHome } from "../../src/boot/home.ts";
import { openSurety } from "../../src/boot/open-surety.ts";
import type { Surety } from "../../src/boot/opened-surety.ts";
import { systemClock } from "../../src/boot/system-clock.ts";
import { systemRandomness } from "../../src/boot/system-randomness.ts";
import { apiApprover } from "../../src/runtime/ports/approver.ts";
import type { Clock } from "../../src/runtime/ports/clock.ts";
import type { Store } from "../../src/runtime/ports/store.ts";
import type { OutboxRow, OutboxState } from "../../src/runtime/ports/stored-delivery.ts";
import { answer, type OpenAiServer, type ServerScript, startOpenAiServer } from "../loopback/openai-server.ts";
import { temporaryHome } from "./temporary-home.ts";
import { type Receiver, SECRET, signature, startReceiver } from "./webhook-stage.ts";

export interface ChannelHome {
  readonly surety: Surety;
  /** Of the home. */
  readonly directory: string;
  readonly receiver: Receiver;
  readonly model: OpenAiServer;
  readonly workspace: string;
  readonly defects: readonly unknown[];
  /** As after an edit of the config file. */
  reconfigure(change: Partial<Config>): Promise<void>;
  /** A message of Anna, who is accepted, unless it says otherwise. */
  hook(payload: object, how?: Signed): ReturnType<Surety["delivery"]["receiveHook"]>;
  /** The newest message to a channel, when it has come to this state. */
  outgoing(state: OutboxState): Promise<OutboxRow>;
}

interface Signed {
  readonly id?: string;
  readonly channel?: string;
  /** The time of its signature, from now. */
  readonly laterS?: number;
  readonly signature?: string;
}

interface Options {
  readonly script?: ServerScript;
  readonly channel?: object;
  readonly tools?: object;
  readonly approvals?: object;
  readonly sessions?: object;
  /** Over the home's own store. */
  readonly overStore?: (store: Store) => Store;
  readonly clock?: Clock;
}

export async function openChannels(options: Options = {}): Promise<ChannelHome> {
  const home = await temporaryHome();
  await openHome(home);
  const receiver = await startReceiver();
  const model = await startOpenAiServer(options.script ?? (() => answer({ text: "Hello Anna." })));
  onTestFinished(() => model.close());
  const models = { scripted: { contextWindow: 32_768, maxOutputTokens: 1024 } };
  const defects: unknown[] = [];
  const config = configOf({
    models: { default: "loop:scripted", providers: { loop: { baseUrl: model.baseUrl, local: true, models } } },
    channels: { crm: { kind: "webhook", secretEnv: "CRM_SECRET", url: receiver.url, ...options.channel } },
    tools: options.tools ?? {},
    approvals: options.approvals ?? {},
    sessions: options.sessions ?? {},
  });
  const readVariable = (name: string) => (name === "CRM_SECRET" ? SECRET : undefined);
  const surety = await openSurety({
    ...{ home, clock: options.clock ?? systemClock, random: systemRandomness, token: null, approver: apiApprover },
    ...{ config, readVariable, ...(options.overStore === undefined ? {} : { overStore: options.overStore }) },
    onDefect: (_id, error) => defects.push(error),
  });
  onTestFinished(() => surety.close(0));
  await surety.delivery.start();
  await surety.delivery.pairing.decide("crm:anna", "accepted", "operator");
  let ids = 0;
  const workspace = join(home.directory, "workspace");
  await mkdir(workspace, { recursive: true });
  return {
    ...{ surety, receiver, model, workspace, defects, directory: home.directory },
    reconfigure: (change) => surety.reconfigure({ config: { ...config, ...change }, readVariable }),
    hook(payload, how = {}) {
      const { id = `msg_${++ids}`, channel = "crm", laterS = 0 } = how;
      const body = JSON.stringify({ senderId: "anna", ...payload });
      const timestamp = String(Math.floor((options.clock ?? systemClock).nowMs() / 1000) + laterS);
      const headers = {
        "webhook-id": id,
        "webhook-timestamp": timestamp,
        "webhook-signature": how.signature ?? signature(id, timestamp, body),
      };
      return surety.delivery.receiveHook(channel, { headers, body });
    },
    outgoing: (state) =>
      vi.waitFor(
        async () => {
          const [row] = await surety.store.listOutbox({ state: null }, { limit: 1, offset: 0 });
          if (row?.state !== state) throw new Error(`the newest is ${JSON.stringify(row)}`);
          return row;
        },
        { timeout: 10_000, interval: 10 },
      ),
  };
}

function configOf(given: object): Config {
  const verdict = readConfig(JSON.stringify(given), "config");
  if (!verdict.ok) throw new Error(JSON.stringify(verdict.problems));
  return verdict.config;
}
