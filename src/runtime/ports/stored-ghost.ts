/** What the shadow loop noticed and proposed (T-5.2), as every store holds it. */
import type { RunId } from "../../kernel/vocabulary/identifiers.ts";
import type { Page } from "./page.ts";

export const GHOST_STATES = ["open", "acted", "dismissed", "settled"] as const;
/** `settled`: no longer so, or another ghost about the same has taken its place. */
export type GhostState = (typeof GHOST_STATES)[number];

export const GHOST_CONFIDENCES = ["low", "medium", "high"] as const;

export interface StoredGhostAction {
  readonly label: string;
  readonly type: "approve" | "dismiss" | "custom";
  /** The run that it starts: exactly this message. Absent: it starts none. */
  readonly plan?: { readonly id: string; readonly message: string };
}

export interface NewGhost {
  readonly id: string;
  /** What it is about: of ghosts with one subject at most one is open. */
  readonly subject: string;
  readonly detector: string;
  /** The file that is looked at again after a restart; null: nothing tells whether it is still so. */
  readonly path: string | null;
  readonly trigger: string;
  readonly observation: string;
  readonly proposal: string;
  readonly confidence: (typeof GHOST_CONFIDENCES)[number];
  readonly actions: readonly StoredGhostAction[];
  readonly createdAtMs: number;
}

export interface StoredGhost extends NewGhost {
  readonly state: GhostState;
  /** Who acted or dismissed it; null for one that settled by itself. */
  readonly decidedBy: string | null;
  readonly decidedAtMs: number | null;
  /** The run that its action has started. */
  readonly runId: RunId | null;
}

export interface GhostReads {
  findGhost(id: string): Promise<StoredGhost | null>;
  latestGhostOf(subject: string): Promise<StoredGhost | null>;
  /** When ghosts appeared after `sinceMs`, the newest first. */
  ghostTimes(sinceMs: number, limit: number): Promise<readonly number[]>;
  /** Newest first. */
  listGhosts(filter: { readonly state: GhostState | null }, page: Page): Promise<readonly StoredGhost[]>;
}

export type GhostWrite =
  /** Settles the open ghost of its subject, and removes the oldest beyond `keep`. */
  | { readonly type: "insert-ghost"; readonly ghost: NewGhost; readonly keep: number }
  /** `store.conflict` unless it is open; acted upon again for the same run, it changes nothing. */
  | {
      readonly type: "decide-ghost";
      readonly id: string;
      readonly state: Exclude<GhostState, "open">;
      readonly by: string | null;
      readonly atMs: number;
      readonly runId: RunId | null;
    };
