/** `surety approvals ls|allow|deny|resolve`: what waits for a person, and answering it. */
import { visibleText } from "../../adapters/terminal/visible-text.ts";
import type { Decision } from "../../assistant/assistant.ts";
import { wireCard } from "../../assistant/wire-card.ts";
import { asHash } from "../../kernel/vocabulary/identifiers.ts";
import { pendingCards } from "../../runtime/approvals/pending-cards.ts";
import type { ApprovalCard } from "../../runtime/ports/approver.ts";
import { timestampOf } from "../../runtime/ports/clock.ts";
import { BootError, EXIT, usageError } from "../boot-error.ts";
import type { Action, Command, CommandContext } from "../command.ts";
import { withAssistant } from "../connect-assistant.ts";
import { withHome } from "../read-home.ts";
import { allPages } from "./all-pages.ts";

const ls: Action = {
  summary: "list what waits for an answer",
  arguments: [],
  options: {},
  examples: ["surety approvals ls"],
  run: (context) =>
    withHome(context, async ({ store }) => {
      const cards = await allPages((page) => pendingCards(store, page));
      const { output } = context;
      output.result({ approvals: cards.map(wireCard) }, () => {
        if (cards.length === 0) output.line("nothing waits for an answer");
        for (const card of cards) printCard(context, card);
      });
      return EXIT.success;
    }),
};

const answering = (summary: string, decision: Decision["decision"]): Action => ({
  summary,
  arguments: ["ID"],
  options: { "plan-hash": { type: "string", value: "H", summary: "only if this is still the plan" } },
  examples: [`surety approvals ${decision} approval_0123`],
  run: (context) => decide(context, decision),
});

const ANSWERS = ["done", "retry", "fail"] as const;

const resolve: Action = {
  summary: "say what became of an interrupted effect",
  arguments: ["ID", "done|retry|fail"],
  options: { "plan-hash": { type: "string", value: "H", summary: "only if this is still the plan" } },
  examples: ["surety approvals resolve approval_0123 done"],
  run(context) {
    const decision = ANSWERS.find((answer) => answer === context.arguments[1]);
    if (decision === undefined)
      throw usageError("the answer is none of done, retry, fail", "Check what happened first.");
    return decide(context, decision);
  },
};

export const approvals: Command = {
  actions: { ls, allow: answering("allow it, once", "allow"), deny: answering("deny it", "deny"), resolve },
};

function decide(context: CommandContext, decision: Decision["decision"]): Promise<number> {
  const {
    arguments: [id = ""],
    options,
    output,
  } = context;
  return withAssistant(context, async (assistant) => {
    const cards = await allPages((page) => assistant.approvals(page));
    const card = cards.find((candidate) => candidate.id === id);
    if (card === undefined)
      throw new BootError("not_found", `nothing with the id ${id} waits for an answer`, "See surety approvals ls.");
    const planHash = asHash(options.text("plan-hash") ?? card.planHash);
    const decided = await assistant.decide({ id: card.id, decision, planHash, principal: "operator" });
    if (!decided.ok) throw new BootError(decided.code, decided.message, "See surety approvals ls.");
    output.result({ id, decision }, () => output.line(`${id}: ${decision}`));
  });
}

function printCard({ output }: CommandContext, { id, kind, runId, tool, shown, why, expiresAtMs }: ApprovalCard): void {
  const asks = kind === "approve" ? "wants to run" : "may have been done";
  output.line(`${id}  ${runId}  ${tool} ${asks} (until ${timestampOf(expiresAtMs)})`);
  output.line(`  why: ${why}`);
  for (const line of visibleText(shown).split("\n")) output.line(`  │ ${line}`);
}
