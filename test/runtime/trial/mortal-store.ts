/**
 * A store whose process dies at a chosen commit: from then on nothing it is asked is ever answered. What was given to it
 * before is as durable as the whole store made it; whether the last commit still went through is the test's to choose.
 */
import type { Store } from "../../../src/runtime/ports/store.ts";

export interface Death {
  /** Commits that are acknowledged. */
  readonly after: number;
  /** The next commit reaches the disk but is not acknowledged. */
  readonly lastOneLands: boolean;
}

export interface MortalStore extends Store {
  readonly died: Promise<void>;
  readonly commits: number;
}

export function mortalStore(whole: Store, death: Death): MortalStore {
  const { promise: died, resolve: die } = Promise.withResolvers<void>();
  let commits = 0;
  let isDead = false;
  const unlessDead = <Args extends readonly unknown[], Result>(
    ask: (...args: Args) => Promise<Result>,
  ): ((...args: Args) => Promise<Result>) => {
    return async (...args) => {
      const answer = isDead ? NEVER : ask(...args);
      const value = await answer;
      return isDead ? NEVER : value;
    };
  };
  return {
    ...whole,
    died,
    get commits() {
      return commits;
    },
    commit: async (writes, urgency) => {
      if (isDead) return NEVER;
      commits += 1;
      if (commits <= death.after) return unlessDead(whole.commit)(writes, urgency);
      isDead = true;
      if (death.lastOneLands) await whole.commit(writes, urgency);
      die();
      return NEVER;
    },
    findRun: unlessDead(whole.findRun),
    findRunByKey: unlessDead(whole.findRunByKey),
    readEntries: unlessDead(whole.readEntries),
    readBodies: unlessDead(whole.readBodies),
    approvalsOf: unlessDead(whole.approvalsOf),
    findApproval: unlessDead(whole.findApproval),
    capabilitiesOf: unlessDead(whole.capabilitiesOf),
    openRuns: unlessDead(whole.openRuns),
    pendingApprovals: unlessDead(whole.pendingApprovals),
  };
}

const NEVER = new Promise<never>(() => {});
