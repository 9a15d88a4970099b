/**
 * A job: one message to the gateway, which says in letters what the model shall do with it, step by step.
 *
 * J1. The model's next step follows from the conversation alone (the job's letters and how many results there are), so
 *     that any request may be repeated after a restart.
 * J2. A job is posted under its own idempotency key until it is known to be accepted: it is one run, or none.
 */

import { answer, html, json, type Reply as ModelReply, type ReceivedRequest } from "../loopback/openai-server.ts";
import type { Random } from "../simulate/random.ts";
import { EFFECT_TOOLS } from "./effect-tools.ts";
import type { GatewayProcess } from "./gateway-process.ts";

/** o: opaque effect, k: keyed effect, r: reading; w: arguments that are none, e: HTTP 400, h: HTML, t: silence. */
const LETTERS = { o: EFFECT_TOOLS.opaque, k: EFFECT_TOOLS.keyed, r: EFFECT_TOOLS.read } as const;

export interface Job {
  readonly number: number;
  readonly letters: string;
  /** `provider:model`; absent: the default. */
  readonly model?: string;
  readonly contract?: Readonly<Record<string, unknown>>;
  readonly approved?: readonly string[];
}

export interface AskedOfModel {
  readonly job: number;
  readonly letters: string;
  /** How many calls have been answered. */
  readonly results: number;
}

export type Posted =
  | { readonly kind: "accepted"; readonly runId: string }
  | { readonly kind: "refused"; readonly status: number; readonly code: string }
  /** The process did not live to say. */
  | { readonly kind: "unknown" };

export function drawLetters(random: Random, least: number, most: number): string {
  const length = random.between(least, most);
  return Array.from({ length }, () => random.weigh({ o: 5, k: 3, r: 2 })).join("");
}

export async function postJob(gateway: GatewayProcess, job: Job, padding = ""): Promise<Posted> {
  const { number, letters, model, contract, approved } = job;
  const reply = await gateway.ask(
    "POST",
    "/v1/runs",
    {
      agent_id: "main",
      message: `job ${number}: ${letters}. ${padding}`,
      approved_tools: approved ?? [EFFECT_TOOLS.opaque, EFFECT_TOOLS.keyed],
      ...(model === undefined ? null : { model }),
      ...(contract === undefined ? null : { contract }),
    },
    { "idempotency-key": `job-${number}` },
  );
  if (reply === null) return { kind: "unknown" };
  const body = reply.body as { readonly id?: string; readonly error?: { readonly code: string } };
  if (reply.status === 202) return { kind: "accepted", runId: body.id ?? "" };
  return { kind: "refused", status: reply.status, code: body.error?.code ?? "" };
}

/** Of a request on either wire. */
export function readAsked({ text }: Pick<ReceivedRequest, "text">): AskedOfModel {
  const told = [...text.matchAll(/job (\d+): (\w*)\./g)].at(-1);
  if (told === undefined) throw new Error("the model was asked about no job");
  const results = text.split(/"role":"tool"|"type":"tool_result"/).length - 1;
  return { job: Number(told[1]), letters: told[2] ?? "", results };
}

export function stepOf({ job, letters, results }: AskedOfModel): ModelReply {
  const letter = letters[results];
  switch (letter) {
    case undefined:
      return answer({ text: `job ${job} is done` });
    case "o":
    case "k":
    case "r":
      return answer({ calls: [{ id: `call_${results}`, name: LETTERS[letter], arguments: { job, n: results } }] });
    case "w":
      return answer({ calls: [{ id: `call_${results}`, name: LETTERS.r, arguments: "{job:" }] });
    case "t":
      return { kind: "hang" };
    case "e":
      return json(400, { error: { message: "bad request", type: "invalid_request_error" } });
    default:
      return html(502);
  }
}

/** Which effects of this kind a job has, as the ledger names them. */
export function effectsOf({ number, letters }: Job, kind: "o" | "k"): readonly string[] {
  return [...letters].flatMap((letter, n) => (letter === kind ? [`${number}/${n}`] : []));
}
