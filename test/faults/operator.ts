/**
 * Whoever answers what became of an interrupted effect: by what the outside ledger says, and by nothing else.
 *
 * O1. What happened is `done`; what did not is tried again or given up, as the seed says.
 * O2. Every card must be about an opaque effect that was under way. Other questions are a fault of the gateway.
 */
import { derive } from "../simulate/random.ts";
import type { EffectLedger } from "./effect-ledger.ts";
import type { GatewayProcess } from "./gateway-process.ts";

interface Card {
  readonly id: string;
  readonly kind: string;
  readonly plan: string;
  readonly plan_hash: string;
}

type Resolution = "done" | "retry" | "fail";

export class Operator {
  /** What was said about an effect, by `job/n`, whether or not the process lived to hear it. */
  readonly said = new Map<string, readonly Resolution[]>();
  readonly problems: string[] = [];
  readonly #ledger: EffectLedger;
  readonly #seed: number;

  constructor(ledger: EffectLedger, seed: number) {
    this.#ledger = ledger;
    this.#seed = seed;
  }

  count(resolution: Resolution): number {
    return [...this.said.values()].flat().filter((said) => said === resolution).length;
  }

  /** How many questions there were; what the process did not live to hear is asked again. */
  async answerAll(gateway: GatewayProcess): Promise<number> {
    const reply = await gateway.ask("GET", "/api/approvals?limit=500");
    if (reply?.status !== 200) return 0;
    const { approvals } = reply.body as { readonly approvals: readonly Card[] };
    await Promise.all(approvals.map((card) => this.#answer(gateway, card)));
    return approvals.length;
  }

  async #answer(gateway: GatewayProcess, { id, kind, plan, plan_hash }: Card): Promise<void> {
    const effect = /(\d+\/\d+)/.exec(plan)?.[1] ?? /"job":(\d+),"n":(\d+)/.exec(plan)?.slice(1).join("/");
    if (kind !== "resolve" || effect === undefined || !plan.includes("opaque")) {
      this.problems.push(`an unexpected question (${kind}): ${plan}`);
      return;
    }
    const before = this.said.get(effect) ?? [];
    const happened = (this.#ledger.opaque.get(effect) ?? 0) > 0;
    const otherwise = derive(this.#seed, "operator", effect, before.length).pick(["retry", "fail"] as const);
    const decision = happened ? "done" : otherwise;
    this.said.set(effect, [...before, decision]);
    const reply = await gateway.ask("POST", `/api/approvals/${id}`, { decision, plan_hash });
    if (reply !== null && reply.status !== 200) {
      this.problems.push(`the answer ${decision} on ${effect} was refused: ${reply.status}`);
    }
  }
}
