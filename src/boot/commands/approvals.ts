/** `surety approvals ls|allow|deny|resolve`: lists what waits for a person, and answers it. */
import { pendingCards } from "../../runtime/approvals/approval-questions.ts";
import { type ApprovalDecision, type WireCard, wireCard } from "../../runtime/approvals/operations.ts";
import { targetIn } from "../../runtime/approvals/show-question.ts";
import { BootError, usageError } from "../boot-error.ts";
import type { Action, Command, CommandContext } from "../command.ts";
import { valueIn, withOperations } from "../connect-assistant.ts";
import { withHome } from "../read-home.ts";
import { allPages } from "./all-pages.ts";

const ls: Action = {
  summary: "list what waits for an answer",
  examples: ["surety approvals ls"],
  run: (context) =>
    withHome(context, async ({ store }) => {
      const cards = (await allPages((page) => pendingCards(store, page))).map(wireCard);
      const { output } = context;
      output.result({ approvals: cards }, () => {
        if (cards.length === 0) output.line("nothing waits for an answer");
        for (const card of cards) printCard(context, card);
      });
    }),
};

const answering = (summary: string, decision: ApprovalDecision): Action => ({
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
      throw usageError("the answer must be done, retry or fail", "Check what happened first.");
    return decide(context, decision);
  },
};

export const command: Command = {
  actions: { ls, allow: answering("allow it, once", "allow"), deny: answering("deny it", "deny"), resolve },
};

function decide(context: CommandContext, decision: ApprovalDecision): Promise<void> {
  const [id = ""] = context.arguments;
  const { options, output } = context;
  return withOperations(context, async (operations) => {
    const cards = await allPages(
      async (page) => valueIn(await operations.call("approvals.list", page), hint).approvals,
    );
    const card = cards.find((candidate) => candidate.id === id);
    if (card === undefined) throw new BootError("not_found", `nothing with the id ${id} waits for an answer`, hint());
    const plan_hash = options.text("plan-hash") ?? card.plan_hash;
    valueIn(await operations.call("approvals.decide", { id: card.id, decision, plan_hash }), hint);
    output.result({ id, decision }, () => output.line(`${id}: ${decision}`));
  });
}

function hint(): string {
  return "See surety approvals ls.";
}

/** Tool and target come last, beside the answers: a long plan cannot scroll them away. */
function printCard({ output }: CommandContext, { id, kind, run_id, tool, plan, why, expires_at }: WireCard): void {
  const isApproval = kind === "approve";
  output.line(`${id}  ${run_id}  ${tool} ${isApproval ? "wants to run" : "may have been done"} (until ${expires_at})`);
  output.line(`  why: ${why}`);
  output.barred(plan, "decide");
  output.line(isApproval ? `Allow ${tool}?` : `Was ${tool} done?`);
  const target = targetIn(plan, tool);
  if (target !== "") output.barred(target, "decide");
  const answers = isApproval ? `allow ${id}, or surety approvals deny ${id}` : `resolve ${id} done|retry|fail`;
  output.line(`Answer: surety approvals ${answers}`);
}
