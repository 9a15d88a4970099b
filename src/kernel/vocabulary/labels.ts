/**
 * Information-flow labels: where data came from and who may see it. Nothing ever cleans a label. The latch is set
 * by a context that has seen private (or secret) and untrusted data, in either order.
 */
export const INTEGRITIES = ["operator", "user", "untrusted"] as const;
export const CONFIDENTIALITIES = ["public", "private", "secret"] as const;
export type Integrity = (typeof INTEGRITIES)[number];
export type Confidentiality = (typeof CONFIDENTIALITIES)[number];

export interface Labels {
  readonly integrity: Integrity;
  readonly confidentiality: Confidentiality;
}

/** The label of nothing at all: joining with it changes nothing. */
export const CLEAN_LABELS: Labels = { integrity: "operator", confidentiality: "public" };
/** Operator and user messages, workspace files, sandboxed commands. */
export const USER_LABELS: Labels = { integrity: "user", confidentiality: "private" };
/** Pages, search results, external messages, MCP results, unpinned skills. */
export const UNTRUSTED_LABELS: Labels = { integrity: "untrusted", confidentiality: "public" };

export function joinLabels(a: Labels, b: Labels): Labels {
  return {
    integrity: later(INTEGRITIES, a.integrity, b.integrity),
    confidentiality: later(CONFIDENTIALITIES, a.confidentiality, b.confidentiality),
  };
}

export function isLatched(labels: Labels): boolean {
  return labels.integrity === "untrusted" && labels.confidentiality !== "public";
}

function later<T>(order: readonly T[], a: T, b: T): T {
  return order.indexOf(a) >= order.indexOf(b) ? a : b;
}
