/** Images of a message, from its acceptance to the model: kept, sent again, counted, named by the journal, forgotten. */
import { describe, expect, test } from "vitest";
import type { RunRequest } from "../../src/assistant/runs/run-request.ts";
import { verifyBundle } from "../../src/kernel/journal/bundle.ts";
import { asBodyRef, type RunId, type SessionId } from "../../src/kernel/vocabulary/identifiers.ts";
import { USER_LABELS } from "../../src/kernel/vocabulary/labels.ts";
import type { ConfiguredModel, ModelRequest } from "../../src/runtime/ports/model-backend.ts";
import { type Acceptance, openingMessages, openingRefs } from "../../src/runtime/run/acceptance.ts";
import { readBodiesOf } from "../../src/runtime/run/read-run.ts";
import { verifySignature } from "../kernel/journal/toy-key.ts";
import { verifies } from "../requirements.ts";
import { DOT_PNG, jpeg, mediaOf } from "./sample-images.ts";
import { auditTrial } from "./trial/audit-trial.ts";
import { openTrial, storeOfFile, type Trial } from "./trial/open-trial.ts";
import { outsideWorld } from "./trial/outside-world.ts";
import { calls, inTurns, says, scriptedModel } from "./trial/scripted-model.ts";

const store = storeOfFile();
const PHOTO = jpeg(640, 480, Buffer.from("a photo"));
const MEDIA = [mediaOf(DOT_PNG), mediaOf(PHOTO)];
const SIGHTED: Partial<ConfiguredModel> = { vision: { imageTokens: ({ width }) => 1_000 + width } };
const REQUEST: RunRequest = {
  agentId: "main",
  message: "what is on them?",
  media: MEDIA,
  sessionId: null,
  model: null,
  thinkingMode: null,
  contract: {},
  approvedTools: [],
  source: "test",
  principal: "tester",
  idempotencyKey: null,
};

async function accepted(trial: Trial, also: Partial<RunRequest> = {}): Promise<RunId> {
  const submitted = await trial.assistant.submit({ ...REQUEST, ...also });
  if (!submitted.ok) throw new Error(submitted.message);
  return submitted.runId;
}

const sent = (request: ModelRequest | undefined) => request?.messages.filter(({ role }) => role !== "system");
const SHOWN = [
  { mimeType: "image/png", width: 1, height: 1, data: DOT_PNG.toString("base64") },
  { mimeType: "image/jpeg", width: 640, height: 480, data: PHOTO.toString("base64") },
];

describe("a message with images", () => {
  test("is shown with them in every turn of its run, and its journal names them", async () => {
    const look = calls([{ id: "call_1", tool: "look.at", args: { thing: "it" } }]);
    const model = scriptedModel(inTurns(look, says("a dot and a photo")), SIGHTED);
    const trial = openTrial({ store: store(), model, world: outsideWorld() });
    const run = await trial.ended(await accepted(trial));
    expect(run.outcome).toBe("COMPLETED_WITH_TOOLS");
    expect(model.requests).toHaveLength(2);
    for (const { request } of model.requests) {
      expect(sent(request)?.[0]).toEqual({ role: "user", content: "what is on them?", images: SHOWN });
    }
    const [created] = await trial.entries(run.runId);
    const heard = created?.kind === "run.created" ? created.decided.heard[0] : null;
    const { media, labels } = heard?.type === "run.accepted" ? heard : {};
    expect(media).toMatchObject([
      { type: "image", mimeType: "image/png", bytes: DOT_PNG.length, width: 1, height: 1 },
      { type: "image", mimeType: "image/jpeg", bytes: PHOTO.length, width: 640, height: 480 },
    ]);
    expect(labels).toEqual(USER_LABELS);
    await auditTrial(trial);
    await trial.stop();
  });

  verifies("X-2", "is asked with the same images after a restart", async () => {
    const world = outsideWorld();
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
    const silent = scriptedModel(() => {
      ask();
      return new Promise(() => {});
    }, SIGHTED);
    const first = openTrial({ store: store(), model: silent, world });
    const runId = await accepted(first);
    await asked;
    await first.stop();
    const speaking = scriptedModel(() => says("seen"), SIGHTED);
    const next = openTrial({ store: store(), model: speaking, world });
    await next.runtime.recover();
    expect((await next.ended(runId)).outcome).toBe("COMPLETED_CHAT_ONLY");
    expect(speaking.requests[0]?.request).toEqual(silent.requests[0]?.request);
    expect(sent(speaking.requests[0]?.request)).toMatchObject([{ images: SHOWN }]);
    await next.stop();
  });

  verifies("P-0", "reaches no model that has lost its sight since: the run fails", async () => {
    const world = outsideWorld();
    const first = openTrial({ store: store(), model: scriptedModel(() => says(""), SIGHTED), world, workers: 0 });
    const runId = await accepted(first);
    await first.stop();
    const blind = scriptedModel(() => says("I guess"));
    const next = openTrial({ store: store(), model: blind, world });
    await next.runtime.recover();
    expect((await next.ended(runId)).outcome).toBe("FAILED_PREFLIGHT");
    expect(blind.requests).toEqual([]);
    await next.stop();
  });

  test("for a model that sees none is refused before anything is asked or written", async () => {
    const blind = scriptedModel(() => says("I guess"));
    const trial = openTrial({ store: store(), model: blind, world: outsideWorld() });
    const before = await store().listRuns({ limit: 1, offset: 0 });
    const { seq } = await store().ledgerHead();
    expect(await trial.assistant.submit(REQUEST)).toEqual({
      ok: false,
      code: "invalid.request",
      message: "scripted:model sees no images: take a model with supportsVision: true, or leave the images out",
    });
    const broken = { ...REQUEST, media: [{ ...mediaOf(DOT_PNG), data: "not base64" }] };
    expect(await trial.assistant.submit(broken)).toMatchObject({ ok: false, code: "invalid.request" });
    expect(blind.requests).toEqual([]);
    expect(await store().listRuns({ limit: 1, offset: 0 })).toEqual(before);
    expect((await store().ledgerHead()).seq).toBe(seq);
    await trial.stop();
  });

  verifies("P-1.5", "is counted with its images, before the network", async () => {
    const model = scriptedModel(() => says("seen"), { ...SIGHTED, contextWindow: 4_000, maxOutputTokens: 500 });
    const world = outsideWorld();
    const trial = openTrial({ store: store(), model, world });
    const tokensOf = async (runId: RunId) => {
      const { event } = JSON.parse((await store().findRun(runId))?.accepted ?? "{}") as Acceptance;
      return event.prompt.tokens;
    };
    const words = await accepted(trial, { media: [] });
    const images = await accepted(trial);
    expect((await tokensOf(images)) - (await tokensOf(words))).toBe(1_001 + 1_640);
    const over = await trial.ended(await accepted(trial, { media: [...MEDIA, ...MEDIA] }));
    expect([over.outcome, over.reason]).toEqual(["FAILED_PREFLIGHT", "context.over-budget"]);
    await Promise.all([words, images].map(trial.ended));
    expect(model.requests).toHaveLength(2);
    await trial.stop();
  });

  test("is remembered in later runs of its session by a note, and by nothing else", async () => {
    const model = scriptedModel(() => says("a dot and a photo"), SIGHTED);
    const trial = openTrial({ store: store(), model, world: outsideWorld() });
    const { sessionId } = await trial.ended(await accepted(trial));
    await trial.ended(await trial.submit("which was larger?", { sessionId: sessionId as SessionId }));
    expect(sent(model.requests[1]?.request)).toEqual([
      { role: "user", content: "what is on them?\n[image: image/png, 1 KB]\n[image: image/jpeg, 1 KB]" },
      { role: "assistant", content: "a dot and a photo", toolCalls: [] },
      { role: "user", content: "which was larger?" },
    ]);
    // A model without vision may see the note.
    const blind = scriptedModel(() => says("the photo"));
    const other = openTrial({ store: store(), model: blind, world: outsideWorld() });
    await other.ended(await other.submit("sure?", { sessionId: sessionId as SessionId }));
    expect(JSON.stringify(blind.requests)).toContain("[image: image/jpeg, 1 KB]");
    expect(JSON.stringify(blind.requests)).not.toContain('"images"');
    await Promise.all([trial.stop(), other.stop()]);
  });

  test("is another request under one idempotency key when its images are others", async () => {
    const model = scriptedModel(() => says("seen"), SIGHTED);
    const trial = openTrial({ store: store(), model, world: outsideWorld() });
    const keyed = { ...REQUEST, idempotencyKey: "only-once" };
    const first = await trial.assistant.submit(keyed);
    expect(await trial.assistant.submit(keyed)).toMatchObject({ ...first, status: expect.anything(), isRepeat: true });
    const [dot] = MEDIA;
    if (dot === undefined) throw new Error("no image");
    expect(await trial.assistant.submit({ ...keyed, media: [dot] })).toMatchObject({ ok: false, code: "conflict" });
    await trial.ended(first.ok ? first.runId : (undefined as never));
    await trial.stop();
  });
});

describe("the images of a run", () => {
  verifies("X-3", "are in its bundle, under the hash it is signed with", async () => {
    const model = scriptedModel(() => says("seen"), SIGHTED);
    const trial = openTrial({ store: store(), model, world: outsideWorld() });
    const run = await trial.ended(await accepted(trial));
    const bundle = await trial.assistant.bundle(run.runId);
    if (!bundle.ok) throw new Error(bundle.message);
    expect(verifyBundle(bundle.text, { verifySignature })).toMatchObject({ ok: true, erased: [] });
    expect(bundle.text).toContain(PHOTO.toString("base64"));
    const other = bundle.text.replace(
      PHOTO.toString("base64"),
      jpeg(640, 480, Buffer.from("b photo")).toString("base64"),
    );
    expect(verifyBundle(other, { verifySignature })).toMatchObject({ ok: false });
    await trial.stop();
  });

  test("can be forgotten: the chain holds, and shows that they are gone", async () => {
    const model = scriptedModel(() => says("seen"), SIGHTED);
    const trial = openTrial({ store: store(), model, world: outsideWorld() });
    const run = await trial.ended(await accepted(trial));
    const acceptance = JSON.parse(run.accepted) as Acceptance;
    const [dot, photo] = acceptance.event.media ?? [];
    const bodies = await readBodiesOf(store(), run, await trial.entries(run.runId));
    expect(openingRefs(acceptance)).toEqual(expect.arrayContaining([dot?.ref, photo?.ref]));
    const left = new Map([...bodies].filter(([ref]) => ref !== photo?.ref));
    const read = (ref: string) => left.get(asBodyRef(ref))?.text ?? null;
    expect(openingMessages(acceptance, () => "system", read).at(-1)).toEqual({
      role: "user",
      content: "what is on them?\n[image erased]",
      images: SHOWN.slice(0, 1),
    });
    const whole = await trial.assistant.bundle(run.runId);
    const document = JSON.parse(whole.ok ? whole.text : "{}");
    delete document.bodies[photo?.ref ?? ""];
    expect(verifyBundle(JSON.stringify(document), { verifySignature })).toMatchObject({
      ok: true,
      erased: [photo?.ref],
    });
    await trial.stop();
  });
});
