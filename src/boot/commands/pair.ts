/** `surety pair ls|accept|deny`: who may speak to the assistant on channels. */
import { type WirePairing, wirePairing } from "../../assistant/delivery/operations.ts";
import type { Action, Command, CommandContext } from "../command.ts";
import { valueIn, withOperations } from "../connect-assistant.ts";
import { withHome } from "../read-home.ts";
import { allPages } from "./all-pages.ts";

const ls: Action = {
  summary: "list who waits with a code, and who was accepted or denied",
  examples: ["surety pair ls"],
  run: (context) =>
    withHome(context, async ({ store }) => {
      const pairings = (await allPages((page) => store.listPairings(page))).map(wirePairing);
      const { output } = context;
      output.result({ pairings }, () => {
        if (pairings.length === 0) return output.line("no sender is known on any channel");
        output.table(["STATE", "CODE", "SENDER", "NAME", "SINCE"], pairings.map(rowOf));
        output.line("answer with surety pair accept|deny CODE; surety pair deny CHANNEL:SENDER takes it back");
      });
    }),
};

function rowOf(pairing: WirePairing): readonly string[] {
  const { state, code, channel, sender_id, sender_name, decided_at, requested_at } = pairing;
  return [state, code ?? "", `${channel}:${sender_id}`, sender_name ?? "", decided_at ?? requested_at];
}

const deciding = (summary: string, decision: "accept" | "deny"): Action => ({
  summary,
  arguments: ["CODE|CHANNEL:SENDER"],
  examples: [`surety pair ${decision} 7Q2M9XKD`, `surety pair ${decision} crm:user_12345`],
  run: (context) => decide(context, decision),
});

function decide(context: CommandContext, decision: "accept" | "deny"): Promise<void> {
  const [sender = ""] = context.arguments;
  return withOperations(context, async (operations) => {
    const decided = valueIn(
      await operations.call("pairings.decide", { sender, decision }),
      () => "See surety pair ls.",
    );
    const { output } = context;
    output.result(decided, () => output.line(`${decided.channel}:${decided.sender_id}: ${decided.state}`));
  });
}

export const command: Command = {
  actions: {
    ls,
    accept: deciding("let this sender speak to the assistant", "accept"),
    deny: deciding("do not", "deny"),
  },
};
