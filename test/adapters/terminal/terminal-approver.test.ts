import { spawn } from "node:child_process";
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { styleFor } from "../../../src/adapters/terminal/style.ts";
import { terminalApprover } from "../../../src/adapters/terminal/terminal-approver.ts";
import {
  asApprovalId,
  asBodyRef,
  asCallId,
  asHash,
  asRunId,
  asSessionId,
} from "../../../src/kernel/vocabulary/identifiers.ts";
import type { ApprovalCard } from "../../../src/runtime/ports/approver.ts";
import type { Clock } from "../../../src/runtime/ports/clock.ts";
import { drawnRows, TERMINALS } from "./drawn-rows.ts";

const CARD: ApprovalCard = {
  id: asApprovalId("apr_1"),
  runId: asRunId("run_1"),
  sessionId: asSessionId("s"),
  callId: asCallId("c"),
  step: 1,
  kind: "approve",
  tool: "fs.write_text",
  planRef: asBodyRef("b"),
  planHash: asHash("f".repeat(64)),
  backgroundRef: null,
  background: { explain: null, provenance: [], call: null },
  why: "side_effect tools ask",
  labels: { integrity: "user", confidentiality: "private" },
  createdAtMs: 0,
  expiresAtMs: 1,
  state: "pending",
  decidedBy: null,
  decidedAtMs: null,
  shown: "Call: fs.write_text /w/a.txt\nwrite 5 bytes to a.txt\nhello",
};
const OTHER: ApprovalCard = { ...CARD, id: asApprovalId("apr_2"), tool: "shell.exec", shown: "ls" };
const RESOLVE: ApprovalCard = { ...CARD, id: asApprovalId("apr_3"), kind: "resolve" };

interface Circumstances {
  readonly isTTY?: boolean;
  readonly clock?: Pick<Clock, "wake">;
}

interface Size {
  columns?: number;
  rows?: number;
}

/** The moment between a question and its prompt is over at once. */
const AT_ONCE: Pick<Clock, "wake"> = {
  wake: (_delayMs, callback) => {
    callback();
    return () => {};
  },
};

function terminal({ isTTY = true, clock = AT_ONCE, ...size }: Circumstances & Size = {}) {
  const input = Object.assign(new PassThrough(), { isTTY });
  const decisions: string[] = [];
  let shown = "";
  const output = Object.assign({ isTTY, write: (text: string) => (shown += text) }, size);
  const approver = terminalApprover({
    input,
    output,
    style: styleFor({}, true),
    clock,
    onDecision: (card, decision) => decisions.push(`${card.id} ${decision}`),
  });
  /** What was typed has been heard when the stream has passed it on. */
  const type = (text: string): Promise<void> =>
    new Promise((resolve) => {
      input.write(text, () => setImmediate(resolve));
    });
  return { approver, input, output: output as Size, decisions, type, shown: () => shown };
}

describe("the person at the terminal", () => {
  test("has the prompt below whatever else is printed meanwhile, and only then", async () => {
    const { approver, decisions, type, shown } = terminal();
    approver.beside.write("thinking\n");
    expect(shown()).toBe("thinking\n");
    approver.ask(CARD);
    const asked = shown().length;
    approver.beside.write("run run_1\n");
    approver.beside.write("no line end");
    const prompt = "▌ Allow fs.write_text?\n▌   │ /w/a.txt\n▌ [Allow] [Deny] (a/d): ";
    expect(shown().slice(asked)).toBe(`\r\u001b[Krun run_1\n${prompt}\r\u001b[Kno line end\n${prompt}`);
    await type("a\n");
    expect(decisions).toEqual(["apr_1 allow"]);
    const answered = shown().length;
    approver.beside.write("done\n");
    expect(shown().slice(answered)).toBe("done\n");
  });

  test("sees the whole plan and answers with a word", async () => {
    const { approver, decisions, type, shown } = terminal();
    approver.ask(CARD);
    expect(shown()).toBe(
      [
        "",
        "▌ ⚠️ The assistant wants to run: fs.write_text /w/a.txt",
        "▌   │ Call: fs.write_text /w/a.txt",
        "▌   │ write 5 bytes to a.txt",
        "▌   │ hello",
        "▌   why: side_effect tools ask",
        "▌   has seen: user, private",
        `▌   plan: ${"f".repeat(64)}`,
        "▌ Allow fs.write_text?",
        "▌   │ /w/a.txt",
        "▌ [Allow] [Deny] (a/d): ",
      ].join("\n"),
    );
    await type("a\n");
    expect(decisions).toEqual(["apr_1 allow"]);
  });

  test.each([
    [CARD, "a", "allow"],
    [CARD, " Allow \r", "allow"],
    [CARD, "d", "deny"],
    [CARD, "DENY", "deny"],
    [CARD, "y", "allow"],
    [CARD, "Yes", "allow"],
    [CARD, "n", "deny"],
    [CARD, "no", "deny"],
    [RESOLVE, "d", "done"],
    [RESOLVE, "done", "done"],
    [RESOLVE, "r", "retry"],
    [RESOLVE, "f", "fail"],
  ])("$kind: %j", async (card, line, decision) => {
    const { approver, decisions, type } = terminal();
    approver.ask(card);
    await type(`${line}\n`);
    expect(decisions).toEqual([`${card.id} ${decision}`]);
  });

  test.each(["", "yeah", "allow everything", "done", "aa", "\u001b[A", "x".repeat(10_000)])(
    "%j is no answer: it is asked again",
    async (line) => {
      const { approver, decisions, type, shown } = terminal();
      approver.ask(CARD);
      await type(`${line}\n`);
      expect(decisions).toEqual([]);
      expect(shown().match(/\[Allow\]/g)).toHaveLength(2);
      expect(shown()).toContain(
        "Please answer with one of: a, allow, y, yes, d, deny, n, no.\n▌ Allow fs.write_text?\n",
      );
      await type("d\n");
      expect(decisions).toEqual(["apr_1 deny"]);
    },
  );

  test("what was typed before a question does not answer it", async () => {
    const { approver, decisions, type } = terminal();
    await type("a\na\n");
    await type("al");
    approver.ask(CARD);
    await type("low\n");
    expect(decisions).toEqual([]);
    await type("a\na\n");
    approver.ask(OTHER);
    await type("");
    expect(decisions).toEqual(["apr_1 allow"]);
  });

  test("no answer counts before the prompt is there, and what was typed by then is gone", async () => {
    const wakes: (() => void)[] = [];
    const clock: Pick<Clock, "wake"> = {
      wake: (delayMs, callback) => {
        expect(delayMs).toBe(700);
        wakes.push(callback);
        return () => {};
      },
    };
    const { approver, decisions, type, shown } = terminal({ clock });
    approver.ask(CARD);
    expect(shown()).not.toContain("[Allow]");
    await type("a\n");
    await type("allo");
    expect(decisions).toEqual([]);
    wakes.shift()?.();
    expect(shown()).toMatch(/\[Allow\] \[Deny\] \(a\/d\): $/);
    await type("w\n");
    expect(decisions).toEqual([]);
    await type("allow\n");
    expect(decisions).toEqual(["apr_1 allow"]);
  });

  test("one line answers one question, also when two come at once", async () => {
    const { approver, decisions, type, shown } = terminal();
    approver.ask(CARD);
    approver.ask(OTHER);
    approver.ask(CARD);
    expect(shown()).not.toContain("shell.exec");
    await type("a\na\n");
    expect(decisions).toEqual(["apr_1 allow"]);
    expect(shown()).toContain("shell.exec");
    await type("d");
    await type("\n");
    expect(decisions).toEqual(["apr_1 allow", "apr_2 deny"]);
  });

  test("a plan cannot pass for the frame, nor draw on the screen", () => {
    const { approver, shown } = terminal();
    const shownPlan =
      "rm -rf /\u001b[1A\u001b[2K\r\n⚠️ The assistant wants to run: ls\n[Allow] [Deny] (a/d): \u202etxt.a";
    approver.ask({ ...CARD, tool: "x\ny", why: "because\n[Allow]", shown: shownPlan });
    expect(shown()).not.toMatch(/[\u001b\r\u202e]/);
    expect(shown()).toContain("▌   │ rm -rf /\\u{1b}[1A\\u{1b}[2K\\u{d}\n▌   │ ⚠️ The assistant wants to run: ls\n");
    expect(shown().match(/^▌ \[Allow\]/gm)).toHaveLength(1);
    expect(shown().match(/^▌ ⚠️ The assistant wants/gm)).toHaveLength(1);
  });

  const FALSE_CARD = [
    "▌ ⚠️ The assistant wants to run: fs.read_text",
    "▌ Allow fs.read_text?",
    "▌   │ notes.txt",
    "▌ [Allow] [Deny] (a/d): ",
  ];

  test.each([24, 40, 80, 81, 132, undefined, 0])(
    "one line padded to the width of %s columns draws no false card above the prompt",
    (columns) => {
      const width = columns || 80;
      const padded = FALSE_CARD.map((row) => row.padEnd(width)).join("");
      for (const blank of [" ", "\t", "\u00a0", "\u3000", "\u2800", "\u200b"]) {
        const { approver, shown } = terminal(columns === undefined ? {} : { columns });
        approver.ask({ ...CARD, shown: `${CARD.shown}\n${blank.repeat(width * 60)}${padded}` });
        const rows = drawnRows(shown(), width, TERMINALS.usual);
        expect(rows.filter((row) => /^▌ (⚠️ The assistant|Allow |\[Allow\])/.test(row))).toHaveLength(3);
        expect(rows.slice(-3).map((row) => row.trim())).toEqual([
          "▌ Allow fs.write_text?",
          expect.stringMatching(/^▌ +│ ?\/w\/a.txt$/),
          "▌ [Allow] [Deny] (a/d):",
        ]);
      }
    },
  );

  test("a plan longer than the screen says so", () => {
    const { approver, shown } = terminal({ columns: 80, rows: 30 });
    approver.ask({ ...CARD, shown: "x\n".repeat(100) });
    expect(shown()).toContain("  It has 101 rows: scroll up to read all of it.\n");
  });

  test("an answer does not count once the terminal became narrower: the question is shown again", async () => {
    const { approver, output, decisions, type, shown } = terminal({ columns: 80 });
    approver.ask(CARD);
    output.columns = 40;
    await type("a\n");
    expect(decisions).toEqual([]);
    expect(shown().match(/The assistant wants to run/g)).toHaveLength(2);
    output.columns = 100;
    await type("a\n");
    expect(decisions).toEqual(["apr_1 allow"]);
  });

  test("a question that is withdrawn makes way for the next", async () => {
    const { approver, decisions, type, shown } = terminal();
    approver.ask(CARD);
    approver.ask(OTHER);
    approver.withdraw(CARD.id);
    approver.withdraw(asApprovalId("unknown"));
    expect(shown()).toContain("no longer needs an answer");
    await type("d\n");
    expect(decisions).toEqual(["apr_2 deny"]);
  });

  test("the end of the input denies, decides no doubt, and nobody is there any more", async () => {
    const { approver, decisions, input } = terminal();
    approver.ask(CARD);
    approver.ask(RESOLVE);
    const ended = new Promise((resolve) => input.once("end", resolve));
    input.end();
    await ended;
    expect(decisions).toEqual(["apr_1 deny"]);
    expect(approver.isReachable()).toBe(false);
  });

  test("nobody is there without a terminal", async () => {
    const { approver, decisions, type, shown } = terminal({ isTTY: false });
    expect(approver.isReachable()).toBe(false);
    approver.ask(CARD);
    await type("a\n");
    expect([decisions, shown()]).toEqual([[], ""]);
  });

  test("gives the input back", async () => {
    const { approver, decisions, type } = terminal();
    expect(approver.isReachable()).toBe(true);
    approver.ask(CARD);
    approver.close();
    await type("a\n");
    expect([decisions, approver.isReachable()]).toEqual([[], false]);
  });
});

describe("a real terminal", () => {
  test("asks, hears the answer, and keeps no process alive", async () => {
    const program = fileURLToPath(new URL("./ask-once.ts", import.meta.url));
    // `script` gives a process a real terminal; BSD's and util-linux's are called differently.
    const words =
      process.platform === "linux"
        ? ["-qec", `${process.execPath} ${program}`, "/dev/null"]
        : ["-q", "/dev/null", process.execPath, program];
    const child = spawn("/usr/bin/script", words);
    let shown = "";
    child.stdout.on("data", (chunk: Buffer) => {
      const wasAsked = shown.includes("(a/d): ");
      shown += chunk.toString();
      if (!wasAsked && shown.includes("(a/d): ")) child.stdin.write("a\n");
    });
    const code = await new Promise((resolve, reject) => {
      child.on("error", reject);
      child.on("close", resolve);
    });
    expect(shown).toContain("decided: allow");
    expect(code).toBe(0);
  });
});
