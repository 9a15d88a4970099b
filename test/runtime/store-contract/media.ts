/** The store's contract: uploaded files. */
import { describe, expect, test } from "vitest";
import type { StoredMedia } from "../../../src/runtime/ports/stored-media.ts";
import { newBody } from "../store-samples.ts";
import type { StoreFixture } from "./store-fixture.ts";

export function describeMedia(fixture: StoreFixture): void {
  const { barrier, insertRun } = fixture;
  const media = (ref: string, also: Partial<StoredMedia> = {}): StoredMedia => ({
    ...{ ref, owner: "web:anna", type: "text/plain", name: "a.txt", bytes: 3, createdAtMs: 100 },
    ...{ data: "YWJj", takenInto: null, ...also },
  });

  describe("media", () => {
    test("an upload waits until a run takes it into its session", async () => {
      const { sessionId } = await insertRun();
      const uploaded = media("media_1");
      await barrier({ type: "put-media", media: uploaded, expireBeforeMs: 0 });
      expect(await fixture.store.findMedia("media_1")).toEqual(uploaded);
      expect(await fixture.store.waitingMedia("web:anna")).toEqual({ files: 1, bytes: 3 });
      expect(await fixture.store.waitingMedia(null)).toEqual({ files: 0, bytes: 0 });
      const { ref: bodyRef } = newBody("YWJj");
      await barrier({ type: "take-media", ref: "media_1", sessionId, bodyRef });
      const taken = { ...uploaded, data: null, takenInto: { sessionId, bodyRef } };
      expect(await fixture.store.findMedia("media_1")).toEqual(taken);
      expect(await fixture.store.waitingMedia("web:anna")).toEqual({ files: 0, bytes: 0 });
      await barrier({ type: "put-media", media: { ...uploaded, createdAtMs: 200 }, expireBeforeMs: 150 });
      expect(await fixture.store.findMedia("media_1")).toEqual({ ...uploaded, createdAtMs: 200 });
    });

    test("what no run took is removed once it is old", async () => {
      const { sessionId } = await insertRun();
      const [taken, old] = [media("media_2"), media("media_3", { owner: null })];
      for (const each of [taken, old]) await barrier({ type: "put-media", media: each, expireBeforeMs: 0 });
      const { ref: bodyRef } = newBody("YWJj");
      await barrier({ type: "take-media", ref: taken.ref, sessionId, bodyRef });
      await barrier({ type: "put-media", media: media("media_4", { createdAtMs: 300 }), expireBeforeMs: 101 });
      const found = await Promise.all(["media_2", "media_3", "media_4"].map((ref) => fixture.store.findMedia(ref)));
      expect(found.map((each) => each?.ref ?? null)).toEqual(["media_2", null, "media_4"]);
    });
  });
}
