import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { imageNote, MAX_IMAGE_BYTES, readMedia } from "../../../src/assistant/runs/read-media.ts";
import type { MediaItem } from "../../../src/assistant/runs/run-request.ts";
import { compileRedactor } from "../../../src/kernel/redaction/redact.ts";
import { verifies } from "../../requirements.ts";
import { DOT_PNG, DRAWN, jpeg, mediaOf, png } from "../../runtime/sample-images.ts";

const SECRET = "Kq7ZpX2mVb9RtYw4NcHs6LdJf8Ga3Eu1";

function redactor() {
  const compiled = compileRedactor({ secrets: [{ name: "KEY", value: SECRET }], emails: true, phones: true });
  if (!compiled.ok) throw new Error(compiled.reason);
  return compiled.redactor;
}

const REDACTOR = redactor();
const read = (...media: readonly MediaItem[]) => readMedia(media, REDACTOR);
const DOT = mediaOf(DOT_PNG);

describe("images of a message", () => {
  test("are taken as they came, with what their bytes say", () => {
    for (const [mimeType, draw] of DRAWN) {
      const file = draw(640, 480, Buffer.from("picture"));
      const item = mediaOf(file);
      expect(read(DOT, item)).toMatchObject({
        ok: true,
        images: [{ bytes: DOT_PNG.length }, { mimeType, bytes: file.length, width: 640, height: 480, data: item.data }],
      });
    }
  });

  test("that are no Base64, in the one form there is of it, are refused", () => {
    const { data } = mediaOf(png(2, 2, Buffer.from("ab")));
    const unpadded = data.replace(/=+$/, "");
    const others = ["", "=", "$$$$", `${data}\n`, ` ${data}`, unpadded, `${data}=`, `data:image/png;base64,${data}`];
    for (const other of others.filter((each) => each !== data)) {
      expect(read(DOT, { ...DOT, data: other })).toEqual({
        ok: false,
        code: "invalid.request",
        message: "media[1].data is not Base64 (RFC 4648, with padding)",
      });
    }
  });

  test("of another type than they say, or of none, are refused without a word of what they are", () => {
    const wrong = read({ ...mediaOf(jpeg(2, 2)), mimeType: "image/png" });
    expect(wrong).toEqual({
      ok: false,
      code: "invalid.request",
      message: "media[0] is image/jpeg; its mime_type says otherwise",
    });
    const page = Buffer.from("<html>hello</html>").toString("base64");
    expect(read({ ...DOT, data: page })).toEqual({
      ok: false,
      code: "invalid.request",
      message: "media[0].data is not a PNG, JPEG, GIF or WebP image",
    });
  });

  test("are eight at most, each and all together bounded in bytes", () => {
    const large = (bytes: number) => mediaOf(png(9, 9, Buffer.alloc(bytes - 33)));
    expect(read(...Array<MediaItem>(8).fill(DOT))).toMatchObject({ ok: true });
    expect(read(...Array<MediaItem>(9).fill(DOT))).toMatchObject({ ok: false, code: "payload.too_large" });
    expect(read(large(MAX_IMAGE_BYTES))).toMatchObject({ ok: true });
    for (const more of [1, 2, 3]) {
      const message = expect.stringContaining(`an image may have ${MAX_IMAGE_BYTES}`);
      expect(read(DOT, large(MAX_IMAGE_BYTES + more))).toEqual({ ok: false, code: "payload.too_large", message });
    }
    const half = large(3_000_000);
    expect(read(half, half)).toMatchObject({ ok: true });
    expect(read(half, half, half)).toEqual({
      ok: false,
      code: "payload.too_large",
      message: "the images have 9000000 bytes; at most 8388608 are accepted together",
    });
  });

  test("are read whatever their bytes are, and keep them", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (picture) => {
        const file = png(5, 7, picture);
        const result = read(mediaOf(file));
        if (!result.ok) throw new Error(result.message);
        expect(Buffer.from(result.images[0]?.data ?? "", "base64").equals(file)).toBe(true);
      }),
    );
  });

  verifies("P-5.4", "that hold a loaded secret are refused, wherever in the file it stands", () => {
    for (const before of ["", "a", "ab", "abc"]) {
      const item = mediaOf(png(2, 2, Buffer.from(`${before}tEXt ${SECRET} end`)));
      const refused = read(DOT, item);
      expect(refused).toEqual({ ok: false, code: "invalid.request", message: "media[1] holds a secret; leave it out" });
      expect(JSON.stringify(refused)).not.toContain(SECRET);
    }
  });

  test("are remembered as a note", () => {
    expect(imageNote({ mimeType: "image/png", bytes: 12_288 })).toBe("[image: image/png, 12 KB]");
    expect(imageNote({ mimeType: "image/gif", bytes: 1 })).toBe("[image: image/gif, 1 KB]");
  });
});
