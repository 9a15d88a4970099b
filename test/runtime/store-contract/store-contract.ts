/**
 * What every store owes the runtime (src/runtime/ports/store.ts), one part per subject. It awaits promises only: no clock,
 * no sleep.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startLedger } from "../../../src/kernel/journal/ledger.ts";
import { describeAccess } from "./access.ts";
import { describeApprovals } from "./approvals.ts";
import { describeCapabilities } from "./capabilities.ts";
import { describeCommits } from "./commits.ts";
import { describeGhosts } from "./ghosts.ts";
import { describeGovernance } from "./governance.ts";
import { describeImports } from "./imports.ts";
import { describeJournals } from "./journals.ts";
import { describeLedger } from "./ledger.ts";
import { describeMedia } from "./media.ts";
import { describeMemories } from "./memories.ts";
import { describeOutbox } from "./outbox.ts";
import { describeRuns } from "./runs.ts";
import { describeSendSlots } from "./send-slots.ts";
import { describeSpend } from "./spend.ts";
import { type OpenedStore, StoreFixture } from "./store-fixture.ts";

const PARTS = [
  describeCommits,
  describeRuns,
  describeJournals,
  describeApprovals,
  describeMedia,
  describeGhosts,
  describeCapabilities,
  describeSpend,
  describeLedger,
  describeOutbox,
  describeSendSlots,
  describeImports,
  describeAccess,
  describeGovernance,
  describeMemories,
];

export function describeStoreContract(name: string, open: () => Promise<OpenedStore>): void {
  describe(`${name} keeps the store's contract`, () => {
    const fixture = new StoreFixture(open);
    beforeAll(() => fixture.start());
    afterAll(() => fixture.stop());
    for (const describePart of PARTS) describePart(fixture);
  });

  test(`${name}: an untouched ledger begins with its home`, async () => {
    const { store, dispose } = await open();
    expect(await store.ledgerHead()).toEqual(startLedger(store.homeId));
    await dispose();
  });
}
