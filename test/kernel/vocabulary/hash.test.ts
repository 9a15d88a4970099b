import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sha256Hex } from "#sha256";
import { canonicalJson } from "../../../src/kernel/vocabulary/canonical-json.ts";
import { HASH_PATTERN, hashBytes, hashCanonical } from "../../../src/kernel/vocabulary/hash.ts";
import adversarial from "../../fixtures/adversarial.json" with { type: "json" };
import { verifies } from "../../requirements.ts";
import { anyCharacter, anyJson, reverseKeys } from "./any-json.ts";

const NIST: readonly (readonly [string, string, string])[] = [
  ["nothing", "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
  ["24 bits", "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"],
  [
    "448 bits",
    "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
  ],
  [
    "896 bits",
    "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
    "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1",
  ],
  ["a million times a", "a".repeat(1_000_000), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"],
];

// This suite runs twice: with Node's SHA-256 and with the portable one. The same digests prove them twins.
describe("SHA-256", () => {
  for (const [name, text, digest] of NIST) {
    verifies("P-4.3", `gives NIST's digest of ${name}, as text and as bytes`, () => {
      expect(sha256Hex(text)).toBe(digest);
      expect(sha256Hex(new TextEncoder().encode(text))).toBe(digest);
      expect(hashBytes(text)).toBe(digest);
    });
  }

  verifies("P-4.3", "hashes text as its UTF-8 bytes", () => {
    const digest = "8873299a158b1a4cf6a333fefef1b469dbf3c18031ff42c620832abd4f7d61eb";
    expect(sha256Hex("é€😂")).toBe(digest);
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (text) => {
        expect(sha256Hex(text)).toBe(sha256Hex(new TextEncoder().encode(text)));
      }),
    );
  });

  test("a part of a larger buffer is hashed, not the whole of it", () => {
    const bytes = new TextEncoder().encode("xabcx").subarray(1, 4);
    expect(hashBytes(bytes)).toBe(sha256Hex("abc"));
  });
});

describe("hashCanonical", () => {
  test("is the hash of the canonical text: 64 lower-case hex digits, whatever the order of keys", () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        expect(hashCanonical(value)).toBe(sha256Hex(canonicalJson(value)));
        expect(hashCanonical(reverseKeys(value))).toBe(hashCanonical(value));
        expect(hashCanonical(value)).toMatch(new RegExp(HASH_PATTERN));
      }),
    );
    expect(hashCanonical(null)).toBe("74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b");
  });

  test("unicode/hash_nfc_nfd: composed and decomposed letters hash differently, and always the same", () => {
    const [inputs] = adversarial.filter(({ name }) => name === "hash_nfc_nfd").map((entry) => entry.input);
    expect((inputs as readonly unknown[]).map(hashCanonical)).toEqual([
      "5a4e86c58f34a06c3644a4e4593bf6b0fbdf422ebe55ba69d8c0497ed221acad",
      "82acf8eef379c4d8de882ddd312ca10688510defa5acfe42abce586b569e8f81",
    ]);
  });

  test("the pattern takes a hash and nothing longer, shorter or in capitals", () => {
    const pattern = new RegExp(HASH_PATTERN);
    const digest = hashBytes("");
    expect(pattern.test(digest)).toBe(true);
    for (const wrong of [`${digest}0`, `0${digest}`, digest.slice(1), digest.toUpperCase(), `${digest}\n`, ""]) {
      expect(pattern.test(wrong)).toBe(false);
    }
  });
});
