import { readFileSync } from "node:fs";
import { Compile } from "typebox/compile";
import { expect } from "vitest";
import { InboundMessageSchema, WsMessageSchema } from "../../src/kernel/journal/views/websocket-messages.ts";
import { verifies } from "../requirements.ts";

const CONTRACTS = new URL("../../contracts/", import.meta.url);

verifies("T-1.1", "the published messages are of all eleven types, and the seed's own example is one of them", () => {
  const messages: readonly { readonly type: string }[] = JSON.parse(
    readFileSync(new URL("fixtures/websocket-messages.json", CONTRACTS), "utf8"),
  );
  const isMessage = Compile(WsMessageSchema);
  expect(messages.filter((message) => !isMessage.Check(message))).toEqual([]);
  expect(Compile(InboundMessageSchema).Check(messages[0])).toBe(true);
  expect([...new Set(messages.map(({ type }) => type))].sort()).toEqual([
    ...["agent.response", "agent.response.end", "channel.message", "config.updated", "error"],
    ...["session.created", "session.resumed", "shadow.ghost", "tool.call", "tool.result", "tool.stream"],
  ]);
});
