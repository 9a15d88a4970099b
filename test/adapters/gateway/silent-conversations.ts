/** A home in which nothing is said: for gateways whose WebSocket is not what a test is about. */
import { randomBytes } from "node:crypto";
import type { Conversations } from "../../../src/assistant/messages/messages.ts";

const conversations: Conversations = { receive: async () => [], listen: async () => () => {} };

export const SILENT = { conversations, random: (count: number) => randomBytes(count) };
