/** Operations on media (T-1.1): a file is uploaded by itself, and a message names it by its ref. */
import { Type } from "typebox";
import { Count, closed } from "../../kernel/vocabulary/schema-primitives.ts";
import { operationsOver } from "../../runtime/operations/operation.ts";
import { MEDIA_TYPES } from "../../runtime/ports/stored-media.ts";
import { isImage, MAX_MEDIA_BYTES, type Media } from "./media.ts";

export interface MediaServices {
  readonly media: Media;
}

const RefInput = Type.String({ pattern: "^[\\w-]{1,128}$" });

const { json, file } = operationsOver<MediaServices>();

export const mediaOperations = [
  json({
    name: "media.add",
    method: "POST",
    path: "/api/media",
    scope: "chat",
    summary:
      "takes a file (the body as it is, at most 8 MiB) for a message to name: an image, PDF or plain text, as its bytes say; `?name=`",
    bodyField: "data",
    bodyBytes: MAX_MEDIA_BYTES,
    input: Type.Object({ data: Type.String(), name: Type.Optional(Type.String({ maxLength: 1024 })) }, closed),
    output: Type.Object({ ref: Type.String(), type: Type.Enum([...MEDIA_TYPES]), bytes: Count, name: Type.String() }),
    async call({ media }, { data, name = null }, caller) {
      const added = await media.add(data, name, caller);
      if (!added.ok) return added;
      const { ref, type, bytes, name: kept } = added.value;
      return { ok: true, value: { ref, type, bytes, name: kept } };
    },
  }),
  file({
    name: "media.get",
    method: "GET",
    path: "/api/media/{ref}",
    scope: "chat",
    summary: "shows an uploaded file; a client that speaks for one sender sees that sender's only",
    input: Type.Object({ ref: RefInput }, closed),
    contentTypes: MEDIA_TYPES,
    async call({ media }, { ref }, caller) {
      const found = await media.find(ref, caller);
      if (!found.ok) return found;
      const { type, name, data } = found.value;
      return { ok: true, value: { type, name, data, isShown: isImage(type) } };
    },
  }),
] as const;
