/**
 * The query of a list (O-5.3): strict, so that what was asked for is what is answered.
 *
 * Q1. A parameter that is unknown, repeated or out of range is refused by name; nothing is clamped.
 */
import { asSessionId, type SessionId } from "../../kernel/vocabulary/identifiers.ts";
import { type Page, RUN_STATUSES, type RunStatus } from "../../runtime/ports/store.ts";
import { invalidRequest } from "./http-error.ts";
import { oneOf } from "./read-fields.ts";

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 500;
const DIGITS = /^[0-9]{1,15}$/;
const NO_PARAMETERS: ReadonlyMap<string, string> = new Map();

export function parsePage(query: string): Page {
  return pageOf(readParameters(query, ["limit", "offset"]));
}

/** For a list that is shown whole. */
export function parseNothing(query: string): void {
  readParameters(query, []);
}

export function parseRunFilter(query: string): { readonly status?: RunStatus } & Page {
  const parameters = readParameters(query, ["status", "limit", "offset"]);
  const status = parameters.get("status");
  return {
    ...(status === undefined ? {} : { status: oneOf(RUN_STATUSES)(status, "status") }),
    ...pageOf(parameters),
  };
}

/** Whose capabilities are asked for: one session's, all of them; or a page of what all sessions ask for. */
export function parseCapabilityFilter(query: string): SessionId | Page {
  const parameters = readParameters(query, ["session_id", "limit", "offset"]);
  const sessionId = parameters.get("session_id");
  if (sessionId === undefined) return pageOf(parameters);
  if (sessionId === "") throw invalidRequest("session_id must not be empty");
  if (parameters.size > 1) throw invalidRequest("limit and offset belong to the list over all sessions");
  return asSessionId(sessionId);
}

function pageOf(parameters: ReadonlyMap<string, string>): Page {
  return {
    limit: wholeNumber(parameters, "limit", 1, MAX_LIMIT) ?? DEFAULT_LIMIT,
    offset: wholeNumber(parameters, "offset", 0, Number.MAX_SAFE_INTEGER) ?? 0,
  };
}

function readParameters(query: string, known: readonly string[]): ReadonlyMap<string, string> {
  if (query === "") return NO_PARAMETERS;
  const parameters = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(query)) {
    if (!known.includes(name)) throw invalidRequest(`unknown query parameter; known are ${known.join(", ") || "none"}`);
    if (parameters.has(name)) throw invalidRequest(`${name} stands there twice`);
    parameters.set(name, value);
  }
  return parameters;
}

function wholeNumber(
  parameters: ReadonlyMap<string, string>,
  name: string,
  least: number,
  most: number,
): number | undefined {
  const digits = parameters.get(name);
  if (digits === undefined) return undefined;
  const value = DIGITS.test(digits) ? Number(digits) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw invalidRequest(`${name} must be a whole number from ${least} to ${most}`);
}
