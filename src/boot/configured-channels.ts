/** The channels of the config, as adapters. */
import { readSecret } from "../adapters/channels/webhook/signature.ts";
import { webhookChannel } from "../adapters/channels/webhook/webhook-channel.ts";
import type { ConfiguredChannel } from "../assistant/delivery/delivery.ts";
import type { Secret } from "../kernel/redaction/known-secrets.ts";
import { type Channel, ChannelError } from "../runtime/ports/channel.ts";
import type { Clock } from "../runtime/ports/clock.ts";
import type { OutboundPost } from "../runtime/ports/outbound-post.ts";
import type { RandomBytes } from "../runtime/ports/randomness.ts";
import type { SecretValues } from "../runtime/secrets/secrets.ts";
import { BootError } from "./boot-error.ts";
import type { Config } from "./config/config.ts";
import type { ReadVariable } from "./environment.ts";

export interface ChannelSurroundings {
  readonly readVariable: ReadVariable;
  readonly stored: () => SecretValues;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly isAccepted: (channel: string, senderId: string) => Promise<boolean>;
}

export function configuredChannels(
  { channels }: Config,
  { readVariable, stored, clock, random, isAccepted }: ChannelSurroundings,
): readonly ConfiguredChannel[] {
  return Object.entries(channels).map(([name, settings]) => {
    const { url, class: channelClass, activation, agent: agentId, deduplicates, recipients } = settings;
    const key = readSecret(channelSecret(settings, readVariable, stored()) ?? "");
    if (key === null) throw secretMissing(name, settings, readVariable);
    const channel = webhookChannel({
      ...{ name, channelClass, key, deduplicates, recipients, clock, random },
      isAccepted: (senderId) => isAccepted(name, senderId),
      post: postingTo(url),
    });
    return { channel, place: { name, channelClass, agentId, activation } };
  });
}

/** Loaded with the first message that is sent. */
function postingTo(url: string): OutboundPost {
  let post: Promise<OutboundPost> | null = null;
  return async (request) => {
    post ??= import("../adapters/tools/http/guarded-post.ts").then(({ createGuardedPost }) => createGuardedPost(url));
    return await (await post)(request);
  };
}

/** For descriptions: they know listed recipients, and can neither send nor receive. */
export function describedChannels({ channels }: Config): readonly Channel[] {
  return Object.entries(channels).map(([name, { class: channelClass, deduplicates, recipients }]) =>
    webhookChannel({
      ...{ name, channelClass, deduplicates, recipients, key: Buffer.alloc(0), clock: { nowMs: () => 0 } },
      random: (count) => new Uint8Array(count),
      isAccepted: () => Promise.resolve(false),
      post: () => Promise.reject(new ChannelError("channel.unavailable", "This command sends nothing.")),
    }),
  );
}

/** To be redacted wherever they turn up. */
export function channelSecrets({ channels }: Config, readVariable: ReadVariable): readonly Secret[] {
  return Object.entries(channels).flatMap(([name, { secretEnv }]) => {
    const value = secretEnv === undefined ? undefined : readVariable(secretEnv);
    return value === undefined ? [] : [{ name: `${name}-webhook-secret`, value }];
  });
}

type Named = Pick<Config["channels"][string], "secretName" | "secretEnv">;

export function channelSecret(
  { secretName, secretEnv }: Named,
  readVariable: ReadVariable,
  stored: SecretValues,
): string | undefined {
  if (secretName !== undefined) return stored.get(secretName);
  return secretEnv === undefined ? undefined : readVariable(secretEnv);
}

function secretMissing(
  name: string,
  { secretName, secretEnv = "secretEnv" }: Named,
  { envFile = ".env in the home" }: ReadVariable,
): BootError {
  const named = secretName ?? secretEnv;
  const hint =
    secretName === undefined
      ? `Put ${secretEnv}=whsec_… in ${envFile}`
      : `Store it: surety secrets set ${secretName} < FILE`;
  return new BootError(
    "channel.secret_missing",
    `channel ${name} has no usable secret: ${named} must be whsec_ and 24 to 64 bytes in base64`,
    `${hint}; openssl rand -base64 32 makes one.`,
  );
}
