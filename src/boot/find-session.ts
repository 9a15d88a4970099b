/** Sessions as a person names them: by id, by the beginning of one, or by title. */
import type { OperationClient } from "../assistant/operations.ts";
import type { SessionRow } from "../assistant/sessions/session-view.ts";
import { asSessionId } from "../kernel/vocabulary/identifiers.ts";
import { BootError } from "./boot-error.ts";
import { allPages } from "./commands/all-pages.ts";
import { valueIn } from "./connect-assistant.ts";

const HINT = "See surety sessions ls.";

export async function findSession(operations: OperationClient, named: string): Promise<SessionRow> {
  const exact = /^[\w-]{1,128}$/.test(named)
    ? await operations.call("sessions.get", { id: asSessionId(named) })
    : ({ ok: false, code: "not_found" } as const);
  if (exact.ok) return exact.value;
  const all = await listSessions(operations);
  const titled = all.filter(({ title }) => title === named);
  const [found, ...others] = titled.length > 0 ? titled : all.filter(({ id }) => id.startsWith(named));
  if (found === undefined || named === "") throw new BootError("not_found", `there is no session ${named}`, HINT);
  if (others.length === 0) return found;
  throw new BootError(
    "not_found",
    `${named} names ${others.length + 1} sessions`,
    "Write more of the id of the one you mean.",
  );
}

export function listSessions(operations: OperationClient): Promise<readonly SessionRow[]> {
  return allPages(async (page) => valueIn(await operations.call("sessions.list", page), () => HINT).sessions);
}

/** The session of this machine's terminal with the latest message; null before the first. */
export async function latestTerminalSession(operations: OperationClient): Promise<SessionRow | null> {
  const latest = { channel: "cli", limit: 1, offset: 0 };
  const { sessions } = valueIn(await operations.call("admin.sessions", latest), () => HINT);
  return sessions[0] ?? null;
}
