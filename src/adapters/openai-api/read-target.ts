/**
 * Who is asked: `surety/AGENT`, or a configured model by its reference, with which the main agent answers. And where: in a
 * session, or in no other conversation than the one that the client sends.
 */
import type { RunInput } from "../../assistant/runs/run-request.ts";
import type { ThinkingLevel } from "../../kernel/vocabulary/thinking-level.ts";
import { ApiError, invalid } from "./openai-error.ts";
import type { Asked, Performance, Performer } from "./perform-run.ts";
import type { Conversation } from "./read-messages.ts";
import { type Fields, textIn } from "./read-parameters.ts";

export interface Catalog {
  readonly agents: readonly string[];
  /** As `provider:model`. */
  readonly models: readonly string[];
}

export interface ApiServices extends Performer {
  readonly catalog: () => Catalog;
}

const PREFIX = "surety/";
const MAIN = "main";
const SESSION_HEADER = "x-surety-session";
const UNATTENDED_HEADER = "x-surety-unattended";

export interface Parameters extends Conversation {
  readonly maxOutputTokens: number | null;
  readonly thinkingLevel: ThinkingLevel | null;
  readonly mayCallTools: boolean;
}

export function modelIds({ agents, models }: Catalog): readonly string[] {
  return [...agents.map((agent) => `${PREFIX}${agent}`), ...models];
}

/** `read` gets whether a session knows what was said before. */
export function askedOf(
  { catalog }: Pick<ApiServices, "catalog">,
  { headers }: Request,
  fields: Fields,
  read: (isAlone: boolean) => Parameters,
  before: string | null = null,
): { readonly asked: Asked; readonly model: string } {
  const named = textIn(fields, "model");
  if (named === null) throw invalid("model", "model is required: surety/main, or one that GET /v1/models lists.");
  const session = headers.get(SESSION_HEADER) ?? before;
  const user = session === null ? textIn(fields, "user") : null;
  const { message, media, instructions, history, ...terms } = read(session !== null || user !== null);
  const run: RunInput = {
    message,
    ...targetOf(named, catalog()),
    ...(media.length === 0 ? {} : { media }),
    ...(session === null ? {} : { session_id: session }),
    ...(instructions === null ? {} : { instructions }),
    ...(history.length === 0 ? {} : { history: [...history] }),
    ...(terms.thinkingLevel === null ? {} : { thinking_level: terms.thinkingLevel }),
    ...(isUnattended(headers) ? { unattended: true } : {}),
    contract: {
      ...(terms.maxOutputTokens === null ? {} : { max_output_tokens: terms.maxOutputTokens }),
      ...(terms.mayCallTools ? {} : { tool_policy: "forbidden" }),
    },
  };
  return { asked: { run, user }, model: named };
}

function targetOf(named: string, catalog: Catalog): Pick<RunInput, "agent_id" | "model"> {
  const agent = named === "surety" ? MAIN : named.startsWith(PREFIX) ? named.slice(PREFIX.length) : null;
  if (agent !== null && catalog.agents.includes(agent)) return { agent_id: agent };
  if (catalog.models.includes(named)) return { agent_id: MAIN, model: named };
  throw noSuchModel();
}

export function noSuchModel(): ApiError {
  const message = "There is no such model here: GET /v1/models lists them. surety/main is the main agent.";
  return new ApiError(404, { message, code: "model_not_found", param: "model" });
}

function isUnattended(headers: Headers): boolean {
  const value = headers.get(UNATTENDED_HEADER);
  if (value === null || value === "true") return value === "true";
  throw invalid(null, `${UNATTENDED_HEADER} can only be true.`);
}

export function headersOf({ runId, sessionId }: Performance): Record<string, string> {
  return {
    ...(runId === null ? {} : { "x-surety-run-id": runId, "x-request-id": runId }),
    ...(sessionId === null ? {} : { [SESSION_HEADER]: sessionId }),
  };
}
