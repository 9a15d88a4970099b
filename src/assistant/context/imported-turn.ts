/**
 * A turn that another assistant held, as `surety migrate` took it over. It is shown and sent like a turn of ours, but is none:
 * it has no run, no outcome and no journal.
 *
 * I1. What its words were made from was not recorded: tool results and web pages may stand in them word for word. They are
 *     untrusted, and private, also where the user said them.
 */
import type { SessionId } from "../../kernel/vocabulary/identifiers.ts";
import type { Labels } from "../../kernel/vocabulary/labels.ts";
import type { StoredImportedTurn } from "../../runtime/ports/stored-session.ts";
import type { SessionTurn, TurnCall } from "./session-turn.ts";

export const IMPORTED_LABELS: Labels = { integrity: "untrusted", confidentiality: "private" };

export interface ImportedTurn {
  readonly askedAt: string;
  readonly answeredAt: string;
  readonly asked: string;
  readonly calls: readonly TurnCall[];
  readonly answered: string;
}

const SUFFIX = /^_imported_([1-9]\d{0,9})$/;

/** Where the turn with this id stands; null for another id. */
export function importedPosition(sessionId: SessionId, id: string): number | null {
  const number = id.startsWith(sessionId) ? SUFFIX.exec(id.slice(sessionId.length))?.[1] : undefined;
  return number === undefined ? null : -Number(number);
}

export function importedTurn(sessionId: SessionId, { position, turn }: StoredImportedTurn): SessionTurn {
  // Not validated: we wrote it to our own store.
  const { askedAt, answeredAt, asked, calls, answered } = JSON.parse(turn) as ImportedTurn;
  return {
    id: `${sessionId}_imported_${-position}`,
    ...{ runId: null, position, outcome: null, labels: IMPORTED_LABELS, askedAt, answeredAt, calls },
    asked: { ref: null, text: asked, note: null },
    answered: { ref: null, text: answered },
    asksToCondense: false,
  };
}
