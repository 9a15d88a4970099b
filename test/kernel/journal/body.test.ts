import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bodyRef, isBodyOf, promptHead, refsOf } from "../../../src/kernel/journal/body.ts";
import type { Entry } from "../../../src/kernel/journal/entry.ts";
import { toLine } from "../../../src/kernel/journal/journal-lines.ts";
import { hashCanonical } from "../../../src/kernel/vocabulary/hash.ts";
import { asBodyRef, type BodyRef } from "../../../src/kernel/vocabulary/identifiers.ts";
import { anyOpenJournal, chainOf, SMALL_JOURNAL } from "./any-journal.ts";
import { anyText } from "./any-record.ts";

const SALT = Uint8Array.from({ length: 16 }, (_, index) => index);
const SALT_HEX = "000102030405060708090a0b0c0d0e0f";
const [created, commit, end] = SMALL_JOURNAL as [Entry, Entry, Entry];

describe("bodyRef", () => {
  test("is SHA-256 over the salt and the UTF-8 bytes", () => {
    // printf '000102030405060708090a0b0c0d0e0f' | xxd -r -p | cat - <(printf 'hello') | sha256sum
    expect(bodyRef(SALT, "hello")).toBe("7c9f5b9e4cc36c703715bb6eedcbb8bd80840fd48d135a07af861d1a027be360");
    expect(bodyRef(SALT, "Zoë")).toBe("f44e7e93ce7a1c83bc6436e59e47dd578c9db00867095b3212e22db00e4be45b");
    expect(bodyRef(new Uint8Array(0), "")).toBe("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  });

  test("two different texts or salts never share a ref", () => {
    const anySalt = fc.uint8Array({ minLength: 16, maxLength: 16 });

    fc.assert(
      fc.property(anySalt, anySalt, anyText, anyText, (salt, otherSalt, text, otherText) => {
        const isSame = text === otherText && salt.join() === otherSalt.join();
        expect(bodyRef(salt, text) === bodyRef(otherSalt, otherText)).toBe(isSame);
        expect(bodyRef(salt, text)).toBe(bodyRef(salt.slice(), text));
      }),
    );
  });

  test("a text that UTF-8 cannot hold is a defect", () => {
    expect(() => bodyRef(SALT, "a\ud800")).toThrow("body: a text with a lone surrogate");
  });

  test("a body is what its ref stands for, and no other", () => {
    const ref = bodyRef(SALT, "hello");
    expect(isBodyOf(ref, { salt: SALT_HEX, text: "hello" })).toBe(true);
    expect(isBodyOf(ref, { salt: SALT_HEX, text: "hello " })).toBe(false);
    expect(isBodyOf(ref, { salt: SALT_HEX.replace("0f", "0e"), text: "hello" })).toBe(false);
  });
});

describe("refsOf", () => {
  const refs = ["a", "b", "c", "d"].map((digit) => asBodyRef(digit.repeat(64))) as [BodyRef, BodyRef, BodyRef, BodyRef];
  const [a, b, c, d] = refs;

  test("finds refs in what was decided, heard and answered, each once, sorted", () => {
    const attempt = { tool: "t", argsRef: b, code: null, messageRef: null, outputRef: a };
    const [withAttempts] = chainOf([
      {
        ...end,
        decided: { outcome: "INTERRUPTED", reason: null, attempts: [attempt] },
        result: { type: "run.answered", ref: c },
      },
    ]) as [Entry];
    expect(refsOf(withAttempts)).toEqual([a, b, c]);
    const notes = { status: "applied", ref: d, actions: [] } as const;
    const answer = {
      type: "model.answered",
      attempt: 1,
      rawHash: hashCanonical(1),
      adapter: { status: "native", failureCode: null, version: "1" },
      messageRef: a,
      textRef: null,
      calls: [{ callId: "c1", tool: "t", argsRef: b }],
      notes,
      usage: { inputTokens: 0, outputTokens: 0, costMicrousd: 0 },
      tokens: 0,
      stopReason: "stop",
      fingerprint: "",
      stream: { chunks: 0, chars: 0, firstMs: 0, lastMs: 0 },
    };
    const heard = [{ ...answer, ts: "", elapsedMs: 0 }];
    const [listening] = chainOf([
      { ...commit, decided: { ...commit.decided, heard } as never, result: { ...answer, messageRef: c } as never },
    ]) as [Entry];
    expect(refsOf(listening)).toEqual([a, b, c, d]);
    expect(refsOf(created)).toEqual([]);
  });

  test("finds exactly what the written line calls a ref", () => {
    fc.assert(
      fc.property(anyOpenJournal(2), ([entry]) => {
        const written = [...toLine(entry as Entry).matchAll(/"(?:[a-z]+_)?ref":"([0-9a-f]{64})"/g)].map(
          ([, ref]) => ref,
        );
        expect(refsOf(entry as Entry)).toEqual([...new Set(written)].sort());
      }),
      { numRuns: 60 },
    );
  });
});

describe("promptHead", () => {
  test("is the hash of the head before and the appended refs", () => {
    const [a, b] = [asBodyRef("a"), asBodyRef("b")];
    const base = promptHead(null, [a]);
    expect(base).toBe(hashCanonical([null, "a"]));
    expect(promptHead(base, [b])).toBe(hashCanonical([base, "b"]));
    expect(promptHead(base, [a, b])).not.toBe(promptHead(promptHead(base, [a]), [b]));
  });
});
