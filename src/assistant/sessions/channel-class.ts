/**
 * Who reads the answer decides what a run may do (P-2.4): the person at this machine, or someone on an external channel. A
 * channel that is not known to be local is external.
 */
import type { ChannelClass } from "../../kernel/vocabulary/risk.ts";

/** Terminal, the local web pages, the program that embeds Surety, and clients that hold its token and name no channel. */
const LOCAL_CHANNELS: readonly string[] = ["cli", "web", "webchat", "http"];
const MAIL_CHANNELS: readonly string[] = ["email"];

export function channelClassOf(channel: string): ChannelClass {
  if (LOCAL_CHANNELS.includes(channel)) return "cli_local";
  return MAIL_CHANNELS.includes(channel) ? "external_email" : "external_message";
}
