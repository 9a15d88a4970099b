/**
 * Media: files that a client uploads and then names in a message.
 *
 * U1. The bytes decide the type. What holds a loaded secret is refused: it cannot be redacted like text (P-5.4).
 * U2. A ref belongs to who uploaded it; a sender sees and uses only its own. The same file of the same owner has one ref.
 * U3. What no message used within a day is removed, and an owner can have only so much of it.
 * U4. A run that takes a file keeps it as a body of its session, so that it is erased with the session.
 */

import type { Redactor } from "../../kernel/redaction/redact.ts";
import { PATTERN_KINDS } from "../../kernel/redaction/secret-patterns.ts";
import { hashBytes, hashCanonical } from "../../kernel/vocabulary/hash.ts";
import type { Hash, RunId, SessionId } from "../../kernel/vocabulary/identifiers.ts";
import { type Caller, type Refusal, type Result, refuse } from "../../runtime/operations/operation.ts";
import type { Clock } from "../../runtime/ports/clock.ts";
import type { Store } from "../../runtime/ports/store.ts";
import type { MediaType, StoredMedia } from "../../runtime/ports/stored-media.ts";
import { readAcceptance } from "../../runtime/run/acceptance.ts";
import { MAX_IMAGE_BYTES } from "../runs/read-media.ts";
import type { FileItem, MediaItem, RunInput } from "../runs/run-request.ts";
import { sniffMedia } from "./sniff-media.ts";

export const MAX_MEDIA_BYTES = 8_388_608;
const KEPT_UNUSED_MS = 86_400_000;
const MAX_WAITING_FILES = 64;
const MAX_WAITING_BYTES = 67_108_864;

export interface MediaParts {
  readonly store: Pick<Store, "commit" | "findMedia" | "waitingMedia" | "readBodies" | "findRun">;
  readonly clock: Pick<Clock, "nowMs">;
  readonly redactor: Pick<Redactor, "redactText">;
}

/** What a message carries: pictures for the model, files for the workspace. */
export interface TakenMedia {
  readonly media?: readonly MediaItem[];
  readonly files?: readonly FileItem[];
}

type Speaker = Pick<Caller, "sender">;

export class Media {
  readonly #parts: MediaParts;
  #adding: Promise<unknown> = Promise.resolve();

  constructor(parts: MediaParts) {
    this.#parts = parts;
  }

  async add(data: string, name: string | null, caller: Speaker): Promise<Result<StoredMedia>> {
    const { clock, redactor } = this.#parts;
    const bytes = Buffer.from(data, "base64");
    const sniffed = sniffMedia(bytes);
    if (!sniffed.ok) {
      const shown = name === null ? "the file" : safeName(name);
      return refuse("invalid.request", `${shown} is ${sniffed.is}; ${TAKEN_TYPES}`);
    }
    const { type } = sniffed;
    if (isImage(type) && bytes.length > MAX_IMAGE_BYTES) {
      return refuse("payload.too_large", `the image has ${bytes.length} bytes; an image may have ${MAX_IMAGE_BYTES}`);
    }
    const texts = type === "text/plain" ? [bytes.toString("utf8"), data] : [data];
    if (texts.some((text) => redactor.redactText(text).found.some((kind) => !PATTERN_KINDS.includes(kind)))) {
      return refuse("invalid.request", "the file holds a secret; leave it out");
    }
    const owner = ownerOf(caller);
    const digest = hashBytes(bytes);
    const kept = nameFor(name, type, digest);
    const ref = `media_${hashCanonical([owner, type, kept, digest]).slice(0, 40)}`;
    const createdAtMs = clock.nowMs();
    const media: StoredMedia = {
      ...{ ref, owner, type, name: kept, bytes: bytes.length, createdAtMs, data, takenInto: null },
    };
    // One after the other: uploads at the same time must not pass the limit together.
    const added = this.#adding.then(() => this.#addWithin(media));
    this.#adding = added.catch(() => {});
    return await added;
  }

  async #addWithin(media: StoredMedia): Promise<Result<StoredMedia>> {
    const { store } = this.#parts;
    const waiting = await store.waitingMedia(media.owner);
    if (waiting.files >= MAX_WAITING_FILES || waiting.bytes + media.bytes > MAX_WAITING_BYTES) {
      return refuse("queue.full", "too many uploads wait to be used in a message: send them, or wait a day");
    }
    const expireBeforeMs = media.createdAtMs - KEPT_UNUSED_MS;
    await store.commit([{ type: "put-media", media, expireBeforeMs }], "barrier");
    return { ok: true, value: media };
  }

  /** With its bytes in Base64. */
  async find(ref: string, caller: Speaker): Promise<Result<StoredMedia & { readonly data: string }>> {
    const { store } = this.#parts;
    const found = await store.findMedia(ref);
    const owner = ownerOf(caller);
    if (found === null || (owner !== null && found.owner !== owner)) return NO_SUCH_MEDIA;
    const { data, takenInto } = found;
    if (data !== null) return { ok: true, value: { ...found, data } };
    if (takenInto === null) return NO_SUCH_MEDIA;
    const { sessionId, bodyRef } = takenInto;
    const body = (await store.readBodies(sessionId, [bodyRef], null)).get(bodyRef);
    return body === undefined ? NO_SUCH_MEDIA : { ok: true, value: { ...found, data: body.text } };
  }

  /** What came with a message of an operation. */
  async carriedBy(given: RunInput["media"], caller: Speaker): Promise<({ readonly ok: true } & TakenMedia) | Refusal> {
    const parts = partsOf(given);
    if (!parts.ok) return parts;
    const taken = await this.take(parts.refs, caller);
    if (!taken.ok || parts.images.length === 0) return taken;
    return { ...taken, media: [...parts.images, ...(taken.media ?? [])] };
  }

  /** What comes with a message of a session. */
  async carriedInto(
    sessionId: SessionId,
    { media, mediaOf }: GivenMedia,
    caller: Speaker,
  ): Promise<({ readonly ok: true } & TakenMedia) | Refusal> {
    const carried = await this.carriedBy(media, caller);
    if (!carried.ok || mediaOf === undefined) return carried;
    const earlier = await this.#imagesOf(sessionId, mediaOf);
    return earlier.ok ? { ...carried, media: [...earlier.value, ...(carried.media ?? [])] } : earlier;
  }

  /** The images that came with a message; its files are in the workspace, and its text names them. */
  async #imagesOf(sessionId: SessionId, runId: RunId): Promise<Result<readonly MediaItem[]>> {
    const { store } = this.#parts;
    const run = await store.findRun(runId);
    if (run === null || run.sessionId !== sessionId) return NO_SUCH_MESSAGE;
    const images = readAcceptance(run.accepted).event.media ?? [];
    const refs = images.map(({ ref }) => ref);
    const bodies = await store.readBodies(sessionId, refs, null);
    const read = images.flatMap(({ ref, mimeType }): readonly MediaItem[] => {
      const body = bodies.get(ref);
      return body === undefined ? [] : [{ type: "image", mimeType: mimeType as ImageMedia, data: body.text }];
    });
    return read.length === images.length ? { ok: true, value: read } : IMAGE_ERASED;
  }

  /** What a message names, for its run. */
  async take(
    refs: readonly { readonly ref: string }[] | null | undefined,
    caller: Speaker,
  ): Promise<({ readonly ok: true } & TakenMedia) | Refusal> {
    if (refs === null || refs === undefined || refs.length === 0) return { ok: true };
    if (refs.length > MAX_ITEMS) {
      return refuse("payload.too_large", `media names ${refs.length} files; a message may have ${MAX_ITEMS}`);
    }
    const media: MediaItem[] = [];
    const files: FileItem[] = [];
    for (const [index, { ref }] of refs.entries()) {
      const found = await this.find(ref, caller);
      if (!found.ok) return refuse(found.code, `media[${index}]: ${found.message}`);
      const { type, name, bytes, data } = found.value;
      if (isImage(type)) media.push({ type: "image", mimeType: type, data, ref });
      else files.push({ ref, type, name, bytes, data });
    }
    return { ok: true, ...(media.length === 0 ? {} : { media }), ...(files.length === 0 ? {} : { files }) };
  }
}

/** Of a message to a session. */
interface GivenMedia {
  readonly media: RunInput["media"];
  /** An earlier message of the session, whose images come along. */
  readonly mediaOf: RunId | undefined;
}

/** What a message carries: images with their bytes, and uploads by their refs. */
function partsOf(media: RunInput["media"] = []) {
  const images: MediaItem[] = [];
  const refs: { readonly ref: string }[] = [];
  for (const [index, { ref, ...image }] of media.entries()) {
    const given = Object.keys(image);
    if (ref !== undefined && given.length > 0) {
      return refuse("invalid.request", `media[${index}] names an upload by its ref: leave out ${given.join(", ")}`);
    }
    const { type, mime_type: mimeType, data } = image;
    if (ref !== undefined) refs.push({ ref });
    else if (type !== undefined && mimeType !== undefined && data !== undefined) images.push({ type, mimeType, data });
    else {
      const missing = ["type", "mime_type", "data"].find((name) => !given.includes(name));
      return refuse("invalid.request", `media[${index}].${missing} is required, or a ref`);
    }
  }
  return { ok: true as const, images, refs };
}

const MAX_ITEMS = 8;
const TAKEN_TYPES = "PNG, JPEG, GIF and WebP images, PDF and plain text in UTF-8 are taken";
const NO_SUCH_MESSAGE = refuse("not_found", "media_of: there is no such message in this session");
const IMAGE_ERASED = refuse("conflict", "an image of that message was erased: attach it again");
const NO_SUCH_MEDIA = refuse("not_found", "there is no such upload: unused ones are kept for a day");

type ImageMedia = Extract<MediaType, `image/${string}`>;

export function isImage(type: MediaType): type is ImageMedia {
  return type.startsWith("image/");
}

function ownerOf({ sender }: Speaker): string | null {
  return sender === null ? null : `${sender.channel}:${sender.senderId}`;
}

const ENDINGS: Readonly<Record<MediaType, string>> = {
  "image/png": ".png",
  "image/jpeg": ".jpg",
  "image/gif": ".gif",
  "image/webp": ".webp",
  "application/pdf": ".pdf",
  "text/plain": ".txt",
};
/** A name may say which kind of text it is; programs are none. */
const TEXT_ENDING = /\.(?:txt|md|csv|tsv|json|jsonl|yaml|yml|log|xml|html|tex|ics)$/i;
const MAX_NAME_CHARS = 80;

function nameFor(name: string | null, type: MediaType, digest: Hash): string {
  const wanted = name === null ? "" : safeName(name);
  const ending = ENDINGS[type];
  if (type === "text/plain" && TEXT_ENDING.test(wanted)) return wanted;
  const stem = wanted.replace(/\.[A-Za-z0-9]{1,5}$/, "");
  return `${stem === "" ? `file-${digest.slice(0, 8)}` : stem}${ending}`;
}

/** A name for any file system and any prompt: letters, digits and a few signs, no path. */
function safeName(name: string): string {
  const last = name.toWellFormed().normalize("NFC").split(/[/\\]/).at(-1) ?? "";
  const plain = last.replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^[.-]+/, "");
  const ending = /\.[A-Za-z0-9]{1,5}$/.exec(plain)?.[0] ?? "";
  return [...plain.slice(0, plain.length - ending.length)].slice(0, MAX_NAME_CHARS - ending.length).join("") + ending;
}
