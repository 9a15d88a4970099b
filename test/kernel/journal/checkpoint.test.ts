import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  checkpointOf,
  coversItsRuns,
  isSigned,
  type OpenRun,
  signCheckpoint,
} from "../../../src/kernel/journal/checkpoint.ts";
import { merkleRoot } from "../../../src/kernel/journal/merkle.ts";
import { hashBytes } from "../../../src/kernel/vocabulary/hash.ts";
import { asRunId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { verifies } from "../../requirements.ts";
import { anyText } from "./any-record.ts";
import { encode } from "./tamper.ts";
import { PUBLIC_KEY, sign, signAsStranger, TRUSTED } from "./toy-key.ts";

const ledgerHead = hashBytes("ledger");
const anyOpenRuns: fc.Arbitrary<readonly OpenRun[]> = fc.uniqueArray(
  fc.record({
    runId: anyText.map((id) => asRunId(`run_${id}`)),
    seq: fc.nat(9),
    head: fc.nat(9).map((n) => hashBytes(`${n}`)),
  }),
  { maxLength: 9, selector: ({ runId }) => runId },
);
const RUNS: readonly OpenRun[] = ["run_b", "run_a", "run_c"].map((id, seq) => ({
  runId: asRunId(id),
  seq,
  head: hashBytes(id),
}));

describe("checkpointOf", () => {
  verifies("X-24", "is ledger seq, head, and the root over the open runs in order of their ids", () => {
    const leaf = (id: string, seq: number) => encode(`{"head":"${hashBytes(id)}","run_id":"${id}","seq":${seq}}`);
    expect(checkpointOf({ ledgerSeq: 7, ledgerHead, openRuns: RUNS })).toEqual({
      ledgerSeq: 7,
      head: ledgerHead,
      merkleRoot: merkleRoot([leaf("run_a", 1), leaf("run_b", 0), leaf("run_c", 2)]),
    });
  });

  test("does not depend on the order in which runs are listed, but on all they say", () => {
    fc.assert(
      fc.property(anyOpenRuns, (openRuns) => {
        const { merkleRoot: root } = checkpointOf({ ledgerSeq: 1, ledgerHead, openRuns });
        expect(checkpointOf({ ledgerSeq: 1, ledgerHead, openRuns: openRuns.toReversed() }).merkleRoot).toBe(root);
        for (const [at, run] of openRuns.entries()) {
          for (const other of [
            { ...run, seq: run.seq + 1 },
            { ...run, head: ledgerHead },
          ]) {
            expect(checkpointOf({ ledgerSeq: 1, ledgerHead, openRuns: openRuns.with(at, other) }).merkleRoot).not.toBe(
              root,
            );
          }
          expect(checkpointOf({ ledgerSeq: 1, ledgerHead, openRuns: openRuns.toSpliced(at, 1) }).merkleRoot).not.toBe(
            root,
          );
        }
      }),
    );
  });

  test("a run that is listed twice is a defect", () => {
    const openRuns = [...RUNS, RUNS[0] as OpenRun];
    expect(() => checkpointOf({ ledgerSeq: 1, ledgerHead, openRuns })).toThrow("checkpoint: a run is listed twice");
  });
});

describe("a signed checkpoint", () => {
  const signed = signCheckpoint({ ledgerSeq: 7, ledgerHead, openRuns: RUNS }, sign);

  verifies("X-24/checkpoints", "is signed over exactly ledger_seq, head and merkle_root as canonical JSON", () => {
    const { merkleRoot: root } = signed;
    expect(signed.signature).toBe(sign(`{"head":"${ledgerHead}","ledger_seq":7,"merkle_root":"${root}"}`));
    expect(signed.openRuns.map(({ runId }) => runId)).toEqual(["run_a", "run_b", "run_c"]);
    expect(isSigned(signed, TRUSTED)).toBe(true);
  });

  verifies("X-24", "another seq, head, root, signature or key is not signed", () => {
    const other = hashBytes("other");
    for (const forged of [
      { ...signed, ledgerSeq: 8 },
      { ...signed, head: other },
      { ...signed, merkleRoot: other },
      { ...signed, signature: other },
      signCheckpoint({ ledgerSeq: 7, ledgerHead, openRuns: RUNS }, signAsStranger),
    ]) {
      expect(isSigned(forged, TRUSTED)).toBe(false);
    }
    expect(isSigned(signed, { ...TRUSTED, publicKey: "stranger" })).toBe(false);
  });

  test("covers the open runs it lists, each once and in order", () => {
    const [a, b, c] = signed.openRuns as [OpenRun, OpenRun, OpenRun];
    expect(coversItsRuns(signed)).toBe(true);
    expect(coversItsRuns(signCheckpoint({ ledgerSeq: 0, ledgerHead, openRuns: [] }, sign))).toBe(true);
    for (const openRuns of [[a, b], [a, b, { ...c, seq: 9 }], []]) {
      expect(coversItsRuns({ ...signed, openRuns })).toBe(false);
    }
    const leafOf = ({ runId, seq, head }: OpenRun) => encode(`{"head":"${head}","run_id":"${runId}","seq":${seq}}`);
    for (const openRuns of [
      [a, a],
      [b, a],
    ]) {
      expect(coversItsRuns({ ...signed, openRuns, merkleRoot: merkleRoot(openRuns.map(leafOf)) })).toBe(false);
    }
  });
});

test("a verifier that cannot even read a key or a signature has not verified it", () => {
  const signed = signCheckpoint({ ledgerSeq: 7, ledgerHead, openRuns: RUNS }, sign);
  const verifySignature = () => {
    throw new Error("bad key");
  };
  expect(isSigned(signed, { publicKey: PUBLIC_KEY, verifySignature })).toBe(false);
});
