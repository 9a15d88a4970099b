import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bytesOfHex } from "../../../src/kernel/journal/bytes.ts";
import { merkleProof, merkleRoot, verifyProof } from "../../../src/kernel/journal/merkle.ts";
import { hashBytes } from "../../../src/kernel/vocabulary/hash.ts";
import { asHash } from "../../../src/kernel/vocabulary/identifiers.ts";

const anyLeaf = fc.uint8Array({ maxLength: 4 });
const anyLeaves = fc.uniqueArray(anyLeaf, { minLength: 1, maxLength: 20, selector: (leaf) => leaf.join() });

describe("merkleRoot", () => {
  // The leaves and roots that Certificate Transparency's own tests publish for RFC 6962.
  const LEAVES = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"];
  const ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
  ];
  for (const [length, root] of ROOTS.entries()) {
    test(`of the first ${length} published leaves is the published one`, () => {
      expect(merkleRoot(LEAVES.slice(0, length).map(bytesOfHex))).toBe(root);
    });
  }

  test("a node does not pass for a leaf", () => {
    const [a, b] = [Uint8Array.of(1), Uint8Array.of(2)];
    const node = bytesOfHex(merkleRoot([a]) + merkleRoot([b]));
    expect(merkleRoot([node])).not.toBe(merkleRoot([a, b]));
  });
});

describe("merkleProof", () => {
  test("proves every leaf at its place, and nothing that is not in the list", () => {
    fc.assert(
      fc.property(anyLeaves, anyLeaf, (leaves, stranger) => {
        const root = merkleRoot(leaves);
        const isListed = leaves.some((leaf) => leaf.join() === stranger.join());
        for (const [index, leaf] of leaves.entries()) {
          const proof = merkleProof(leaves, index);
          expect(proof.length).toBeLessThanOrEqual(Math.ceil(Math.log2(leaves.length)));
          expect(verifyProof(root, leaf, proof)).toBe(true);
          if (!isListed) expect(verifyProof(root, stranger, proof)).toBe(false);
        }
      }),
    );
  });

  test("a changed, shortened or turned step, and another root, prove nothing", () => {
    const leaves = [1, 2, 3, 4, 5].map((byte) => Uint8Array.of(byte));
    const root = merkleRoot(leaves);
    const leaf = leaves[1] as Uint8Array;
    const proof = merkleProof(leaves, 1);
    expect(proof.map(({ side }) => side)).toEqual(["left", "right", "right"]);
    for (const [at, step] of proof.entries()) {
      const side = step.side === "left" ? ("right" as const) : ("left" as const);
      expect(verifyProof(root, leaf, proof.with(at, { ...step, hash: hashBytes("other") }))).toBe(false);
      expect(verifyProof(root, leaf, proof.with(at, { ...step, hash: asHash(step.hash.toUpperCase()) }))).toBe(false);
      expect(verifyProof(root, leaf, proof.with(at, { ...step, side }))).toBe(false);
      expect(verifyProof(root, leaf, proof.toSpliced(at, 1))).toBe(false);
    }
    expect(verifyProof(hashBytes("other"), leaf, proof)).toBe(false);
  });
});
