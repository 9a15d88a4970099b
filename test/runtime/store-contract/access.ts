/** The store's contract: tokens, and browsers that are signed in. */
import { describe, expect, test } from "vitest";
import { hashBytes } from "../../../src/kernel/vocabulary/hash.ts";
import type { AccessWrite, NewBrowser, NewToken } from "../../../src/runtime/ports/stored-access.ts";
import { ENDED_AT, fresh } from "../store-samples.ts";
import type { StoreFixture } from "./store-fixture.ts";

const EVERYTHING = { limit: 1000, offset: 0 };
const ACT = { ts: ENDED_AT, actor: "operator" } as const;

function tokenOf(also: Partial<NewToken> = {}): NewToken {
  const id = fresh("token");
  const owner = { channel: "crm", senderId: "anna" };
  return { ...{ id, name: "crm", digest: hashBytes(id), scope: "chat" as const }, ...owner, ...LIFE, ...also };
}

const LIFE = { createdAtMs: 1, expiresAtMs: null };

const puts = (token: NewToken): AccessWrite => ({
  type: "put-token",
  token,
  draft: { ...ACT, kind: "token.created", data: { tokenId: token.id, scope: token.scope } },
});
const rotates = (token: NewToken): AccessWrite => ({
  type: "put-token",
  token,
  draft: { ...ACT, kind: "token.rotated", data: { tokenId: token.id } },
});
const removes = (tokenId: string): AccessWrite => ({
  type: "remove-token",
  draft: { ...ACT, kind: "token.revoked", data: { tokenId } },
});

export function describeAccess(fixture: StoreFixture): void {
  const { barrier } = fixture;
  const tokens = async (...ids: readonly string[]) =>
    (await fixture.store.listTokens(EVERYTHING)).filter(({ id }) => ids.includes(id));

  describe("tokens", () => {
    test("are kept, changed and removed, each with its entry", async () => {
      const [one, other] = [tokenOf(), tokenOf({ scope: "admin", channel: null, senderId: null, expiresAtMs: 9 })];
      await barrier(puts(one), puts(other));
      const asStored = (token: NewToken) => ({ ...token, isForged: false });
      expect(await tokens(one.id, other.id)).toEqual([one, other].sort((a, b) => (a.id < b.id ? -1 : 1)).map(asStored));
      const turned = { ...one, digest: hashBytes("another") };
      await barrier(rotates(turned));
      expect(await tokens(one.id)).toEqual([asStored(turned)]);
      const { seq } = await fixture.store.ledgerHead();
      await barrier(removes(one.id), removes(other.id));
      await barrier(removes(one.id));
      expect(await tokens(one.id, other.id)).toEqual([]);
      const entries = await fixture.store.readLedger(seq, 100);
      expect(entries.map(({ kind }) => kind)).toEqual([
        ...["token.revoked", "row.recorded"],
        ...["token.revoked", "row.recorded"],
      ]);
    });
  });

  describe("browsers that are signed in", () => {
    test("are kept, seen and removed", async () => {
      const id = fresh("browser");
      const browser: NewBrowser = {
        ...{ id, digest: hashBytes(id), userAgent: "Mozilla/5.0 <b>", createdAtMs: 1, seenAtMs: 1, expiresAtMs: 9 },
      };
      const find = async () => (await fixture.store.listBrowsers(EVERYTHING)).find((each) => each.id === id);
      const draft = { ...ACT, kind: "browser.signed_in", data: { browserId: id } } as const;
      await barrier({ type: "insert-browser", browser, draft });
      expect(await find()).toEqual({ ...browser, isForged: false });
      await barrier({ type: "see-browser", id, atMs: 5 });
      await barrier({ type: "see-browser", id, atMs: 4 });
      expect(await find()).toEqual({ ...browser, seenAtMs: 5, isForged: false });
      const gone = { ...ACT, kind: "browser.signed_out", data: { browserId: id } } as const;
      await barrier({ type: "remove-browser", draft: gone });
      await barrier({ type: "remove-browser", draft: gone });
      expect(await find()).toBeUndefined();
    });
  });
}
