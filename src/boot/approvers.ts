/** Who can be asked: nobody, or whoever looks at the gateway's list of questions. */
import type { Approver } from "../runtime/ports/approver.ts";

export const nobodyToAsk: Approver = { isReachable: () => false, ask: () => {}, withdraw: () => {} };

/** The operator answers through the API, when and where it suits them. */
export const operatorOverApi: Approver = { isReachable: () => true, ask: () => {}, withdraw: () => {} };
