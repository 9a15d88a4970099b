/** Callers who hold a credential, or none, and want more than it is for: over real sockets, each gateway its own. */
import { expect } from "vitest";
import { verifies } from "../requirements.ts";
import { openInterface } from "./interface-gateway.ts";

verifies(
  ["P-2.4", "O-5.7/sender"],
  "a token of a sender outside is no one at this machine, and has to wait as any sender, by whichever path",
  async () => {
    const opened = await openInterface({ gateway: { rateLimit: { perMinute: 2 } } });
    const { ask, ended, surety } = opened;
    const made = await ask("POST", "/api/tokens", { name: "phone", scope: "chat", owner: "telegram:7" });
    const outsider = { authorization: `Bearer ${made.json.token}` };
    const first = await ask("POST", "/v1/chat/messages", { user_id: "7", message: "hello" }, outsider);
    const send = (headers: Record<string, string>) =>
      ask("POST", `/api/sessions/${first.json.session_id}/send`, { text: "hello again" }, headers);
    const [second, tooFast, own] = [await send(outsider), await send(outsider), await send({})];
    expect([tooFast.status, tooFast.json.error.code]).toEqual([429, "chat.rate_limited"]);
    const classes = await Promise.all(
      [first, second, own].map(async ({ json }) => {
        await ended(json.id);
        const { contract = "" } = (await surety.store.findRun(json.id)) ?? {};
        return JSON.parse(contract).channel_class;
      }),
    );
    expect(classes).toEqual(["external_message", "external_message", "cli_local"]);
  },
);
