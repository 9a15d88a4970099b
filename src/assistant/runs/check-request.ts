/** What a request says must be fit to be stored: well-formed, not too long, without secrets where nothing is redacted. */
import type { Redactor } from "../../kernel/redaction/redact.ts";
import type { JsonValue } from "../../kernel/vocabulary/parse-json.ts";
import { type Refusal, refuse } from "../../runtime/operations/operation.ts";
import type { RunRequest, SuppliedContext } from "./run-request.ts";

/** The limit of one HTTP request. */
const MAX_MESSAGE_BYTES = 1_048_576;

/** Contracts are stored, bundled and shown unredacted, so they must not hold secrets. */
export function secretProblem(
  redactor: Redactor,
  { agentId, model, contract, approvedTools }: RunRequest,
): Refusal | null {
  const kept = { agentId, model, contract, approvedTools } as unknown as JsonValue;
  const [path] = redactor.redactJson(kept).paths;
  return path === undefined ? null : refuse("invalid.request", `${path} holds a secret; leave it out`);
}

/** A session has its own history; the machine beside it would not know which one counts. */
export function suppliedProblem({ supplied, sessionId }: RunRequest): Refusal | null {
  if (supplied === undefined) return null;
  if (sessionId !== null) return refuse("invalid.request", "history and instructions are for runs without session_id");
  const texts = [supplied.instructions ?? "", ...supplied.history.map(({ content }) => content)];
  return texts.every((text) => text.isWellFormed())
    ? null
    : refuse("invalid.request", "history and instructions must be well-formed Unicode");
}

export function redactSupplied(redactor: Redactor, { instructions, history }: SuppliedContext): SuppliedContext {
  const redacted = (text: string): string => redactor.redactText(text).text;
  return {
    instructions: instructions === null ? null : redacted(instructions),
    history: history.map(({ role, content }) => ({ role, content: redacted(content) })),
  };
}

export function messageProblem(message: string): Refusal | null {
  if (message.trim() === "") return refuse("invalid.request", "message is required");
  if (!message.isWellFormed()) return refuse("invalid.request", "message is not well-formed Unicode");
  const bytes = Buffer.byteLength(message);
  if (bytes <= MAX_MESSAGE_BYTES) return null;
  return refuse(
    "payload.too_large",
    `message has ${bytes} bytes; at most ${MAX_MESSAGE_BYTES} are accepted: put it into a file`,
  );
}
