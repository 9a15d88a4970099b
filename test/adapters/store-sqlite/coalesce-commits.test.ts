import { describe, expect, test } from "vitest";
import { type GivenCommit, gatherCommits } from "../../../src/adapters/store-sqlite/coalesce-commits.ts";
import { asRunId, type Hash } from "../../../src/kernel/vocabulary/identifiers.ts";
import type { Urgency, Write } from "../../../src/runtime/ports/store.ts";

const hashOf = (seq: number) => String(seq).padStart(64, "0") as Hash;

function append(run: string, afterSeq: number, lines: readonly string[]): Write {
  const after = { seq: afterSeq, hash: hashOf(afterSeq) };
  return {
    type: "append-entries",
    runId: asRunId(run),
    epoch: 0,
    after,
    lines,
    head: hashOf(afterSeq + lines.length),
    bodies: [],
  };
}

/** A commit, and what it was refused for. */
function given(writes: readonly Write[], urgency: Urgency): GivenCommit & { readonly refusals: unknown[] } {
  const refusals: unknown[] = [];
  return { writes, urgency, refusals, resolve: () => {}, reject: (error) => refusals.push(error) };
}

/** Who waits for a commit, and nothing of what it writes: that is not held until it is answered. */
function onlyWaiting(commit: GivenCommit | undefined) {
  return { resolve: commit?.resolve, reject: commit?.reject };
}

describe("gathering commits", () => {
  test("joins a run's lazy ones with what follows them, and nobody else's", () => {
    const commits = [
      given([append("a", 0, ["1"])], "lazy"),
      given([append("b", 0, ["x"])], "lazy"),
      given([append("a", 1, ["2"])], "eager"),
      given([append("a", 2, ["3"])], "eager"),
    ];
    const gathered = gatherCommits(commits);
    expect(gathered.map(({ writes }) => writes[0])).toEqual([
      expect.arrayContaining(["a", "1\n2"]),
      expect.arrayContaining(["b", "x"]),
      expect.arrayContaining(["a", "3"]),
    ]);
    expect(gathered.map(({ waiting }) => waiting)).toEqual([
      [onlyWaiting(commits[0]), onlyWaiting(commits[2])],
      [onlyWaiting(commits[1])],
      [onlyWaiting(commits[3])],
    ]);
  });

  test("refuses one that cannot be put into words, and none of the others", () => {
    const broken: Write = {
      ...append("a", 0, []),
      get lines(): readonly string[] {
        throw new Error("no words for it");
      },
    } as Write;
    const [before, failing, after] = [
      given([append("b", 0, ["x"])], "barrier"),
      given([broken], "barrier"),
      given([append("c", 0, ["y"])], "barrier"),
    ];
    const gathered = gatherCommits([before, failing, after]);
    expect(gathered.map(({ waiting }) => waiting)).toEqual([[onlyWaiting(before)], [onlyWaiting(after)]]);
    expect(failing.refusals).toEqual([new Error("no words for it")]);
    expect([...before.refusals, ...after.refusals]).toEqual([]);
  });
});
