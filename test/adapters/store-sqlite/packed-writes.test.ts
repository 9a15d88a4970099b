import { expect, test } from "vitest";
import { joinAppends, pack } from "../../../src/adapters/store-sqlite/packed-writes.ts";
import { asRunId } from "../../../src/kernel/vocabulary/identifiers.ts";
import { newBody, SampleJournal } from "../../runtime/store-samples.ts";

const RUN = asRunId("run_1");
const running = { type: "set-status", runId: RUN, status: "running" } as const;

test("what follows is joined: one append from the first head to the last, with all bodies and what else belongs to it", () => {
  const journal = new SampleJournal(RUN);
  const [early, late] = [newBody("early"), newBody("late")];
  const first = { ...journal.appendLines(2), bodies: [early] };
  const second = { ...journal.appendLines(1), bodies: [late] };
  const joined = joinAppends(pack([first]), pack([second, running]));
  const whole = { ...first, lines: [...first.lines, ...second.lines], head: second.head, bodies: [early, late] };
  expect(joined).toEqual(pack([whole, running]));
});

test.each([
  ["another run", (journal: SampleJournal) => [[journal.append(1)], [new SampleJournal(asRunId("run_2")).append(1)]]],
  ["another owner", (journal: SampleJournal) => [[journal.append(1, 0)], [journal.append(1, 1)]]],
  ["a gap", (journal: SampleJournal) => [[journal.append(1)], [journal.append(1), journal.append(1)].slice(1)]],
  ["a commit with consequences", (journal: SampleJournal) => [[journal.append(1), running], [journal.append(1)]]],
  ["an append of nothing", (journal: SampleJournal) => [[journal.append(0)], [journal.append(1)]]],
  ["something that is no append", (journal: SampleJournal) => [[journal.append(1)], [running]]],
])("%s is not joined", (_, write) => {
  const [earlier = [], later = []] = write(new SampleJournal(RUN));
  expect(joinAppends(pack(earlier), pack(later))).toBeNull();
});
