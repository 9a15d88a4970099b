/** Capabilities as stored, for the gateway that decides and for commands that only read. A row the ledger does not confirm is reported, and grants nothing. */
import type { SessionId } from "../../kernel/vocabulary/identifiers.ts";
import { type Page, type Store, StoreError } from "../ports/store.ts";
import type { SessionCapability, StoredCapability } from "../ports/stored-capability.ts";
import type { RunPorts } from "../run-ports.ts";
import { grantedAt } from "./authority.ts";

export interface SessionCapabilities {
  readonly granted: readonly StoredCapability[];
  readonly pending: readonly StoredCapability[];
}

export type CapabilitiesAnswer =
  | { readonly ok: true; readonly capabilities: SessionCapabilities }
  | { readonly ok: false; readonly code: "not_found" | "conflict" | "invalid.request"; readonly message: string };

type ReadingPorts = Pick<RunPorts, "store" | "clock" | "onDefect">;

export async function capabilitiesOf(
  ports: ReadingPorts,
  sessionId: SessionId,
  read = (id: SessionId) => readCapabilities(ports, id),
): Promise<CapabilitiesAnswer> {
  if (!(await ports.store.hasSession(sessionId))) return unknownSession();
  const known = await read(sessionId);
  const { capabilities } = grantedAt(known, ports.clock.nowMs());
  return {
    ok: true,
    capabilities: {
      granted: known.filter(({ capability }) => capabilities.includes(capability)),
      pending: known.filter(({ state }) => state === "pending"),
    },
  };
}

/** Pending requests of all sessions, oldest first. */
export async function pendingCapabilities(store: Store, page: Page): Promise<readonly SessionCapability[]> {
  const asked = await store.pendingCapabilities(page);
  return asked.filter(({ state }) => state === "pending");
}

/** Grants of all sessions that count now, the newest first. */
export async function grantedCapabilities(
  { store, clock }: Pick<ReadingPorts, "store" | "clock">,
  page: Page,
): Promise<readonly SessionCapability[]> {
  const nowMs = clock.nowMs();
  return (await store.grantedCapabilities(page)).filter((each) => grantedAt([each], nowMs).capabilities.length > 0);
}

export async function readCapabilities(
  { store, onDefect }: Pick<ReadingPorts, "store" | "onDefect">,
  sessionId: SessionId,
): Promise<readonly StoredCapability[]> {
  const known = await store.capabilitiesOf(sessionId);
  const forged = known.filter(({ state }) => state === "forged").length;
  if (forged > 0) onDefect("capabilities", forgery(sessionId, forged));
  return known;
}

export function unknownSession(): CapabilitiesAnswer {
  return {
    ok: false,
    code: "not_found",
    message: "there is no such session; a run creates one, see session_id in its record",
  };
}

function forgery(sessionId: SessionId, count: number): StoreError {
  return new StoreError(
    "store.corrupt",
    `${count} capabilities of ${sessionId} are in the database but not in the ledger, so they grant nothing. ` +
      "Another program has written to this home: see surety verify --home.",
  );
}
