/** How a command runs, what comes out of it, and that nothing is left of it. */
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { BoundedOutput } from "../../../src/adapters/sandbox-bwrap/bounded-output.ts";
import { type Boxed, boxed, distinctNap, shellStage, sleepers, textOf } from "./boxed.ts";

let box: Boxed;
beforeEach(() => {
  box = boxed();
});
afterEach(() => box.dispose());

describe("words", () => {
  test("no shell reads them", async () => {
    const words = ["$(id)", "`id`", "a  b", "*", "'", '"', "\\", "", "; id", "--", "-n", "é\n", "$1"];
    const { stdout } = await box.run({
      stages: [{ executable: "/usr/bin/printf", argv: ["printf", "<%s>", ...words] }],
    });
    expect(textOf(stdout)).toBe(words.map((word) => `<${word}>`).join(""));
  });

  test("nor those of a pipeline", async () => {
    const words = ["$(id)", "| id", "2>&1", "a b", "#", "&", "}", "'", ...Array.from({ length: 9 }, (_, i) => `${i}`)];
    const { stdout } = await box.run({
      stages: [
        { executable: "/usr/bin/printf", argv: ["printf", "%s\\n", ...words] },
        { executable: "/usr/bin/tail", argv: ["tail", "-n", "+1"] },
        { executable: "/usr/bin/cat", argv: ["cat"] },
      ],
    });
    expect(textOf(stdout)).toBe(words.map((word) => `${word}\n`).join(""));
  });

  test("that are too many or too long are named as what is wrong", async () => {
    for (const words of [Array.from({ length: 12_000 }, () => "a"), ["a".repeat(140_000)]]) {
      const over = box.run({ stages: [{ executable: "/usr/bin/printf", argv: ["printf", "%s", ...words] }] });
      await expect(over).rejects.toMatchObject({
        code: "sandbox.failed",
        message: expect.stringContaining("too long"),
      });
    }
  });

  test("as many as bubblewrap takes", async () => {
    const words = Array.from({ length: 8800 }, () => "a");
    const { stdout } = await box.run({ stages: [{ executable: "/usr/bin/printf", argv: ["printf", "%s", ...words] }] });
    expect(textOf(stdout)).toBe(words.join(""));
  });
});

describe("ends", () => {
  test("the exit code is the last stage's; a signal is 128 and its number", async () => {
    const exits = async (...scripts: readonly string[]) =>
      (await box.run({ stages: scripts.map(shellStage) })).exitCode;
    expect(await exits("exit 0")).toBe(0);
    expect(await exits("exit 64")).toBe(64);
    expect(await exits("kill -9 $$")).toBe(137);
    expect(await exits("kill -11 $$")).toBe(139);
    expect(await exits("exit 3", "exit 5")).toBe(5);
    expect(await exits("exit 3", "kill -9 $$")).toBe(137);
    expect(await exits("exit 3", "cat")).toBe(0);
  });

  test("nothing that a command sends the launcher changes how it ends", async () => {
    for (const signal of ["INT", "TERM", "HUP", "CHLD", "KILL"]) {
      const { exitCode } = await box.run({ stages: [shellStage(`kill -${signal} 1; exit 5`)] });
      expect([signal, exitCode]).toEqual([signal, 5]);
    }
  });

  test("of a command that a signal ended the shell says nothing", async () => {
    const { stdout, stderr } = await box.run({ stages: [shellStage("kill -SEGV $$")] });
    expect([textOf(stdout), textOf(stderr)]).toEqual(["", ""]);
  });

  test("a program that is not there is 127, and says so", async () => {
    const { exitCode, stderr } = await box.run({ stages: [{ executable: "/usr/bin/no-such", argv: ["no-such"] }] });
    expect(exitCode).toBe(127);
    expect(textOf(stderr)).toContain("/usr/bin/no-such");
  });

  test("a stage that stops reading ends the one before", async () => {
    const { stdout, exitCode, stderr } = await box.run({
      stages: [
        { executable: "/usr/bin/yes", argv: ["yes"] },
        { executable: "/usr/bin/head", argv: ["head", "-n", "2"] },
      ],
    });
    expect([textOf(stdout), textOf(stderr), exitCode]).toEqual(["y\ny\n", "", 0]);
  });

  test("errors of every stage are errors of the command, the shell's remarks are not", async () => {
    const { stdout, stderr } = await box.run({
      stages: ["echo one >&2; kill -9 $$", "echo two >&2; cat"].map(shellStage),
    });
    expect(textOf(stdout)).toBe("");
    expect(textOf(stderr).split("\n").toSorted()).toEqual(["", "one", "two"]);
  });

  test("what a command leaves running ends with it", async () => {
    const nap = distinctNap();
    expect(await box.shell(`setsid sleep ${nap} > /dev/null 2>&1 & sleep ${nap} & echo done`)).toBe("done\n");
    await expect.poll(() => sleepers(nap)).toEqual([]);
  });
});

describe("what does not end by itself (F10)", () => {
  // Ignores signals, has left its session, holds the outputs and floods them.
  const stubborn = (nap: string): string =>
    `trap "" TERM HUP INT; setsid sh -c 'trap "" TERM HUP; sleep ${nap}' & (sleep ${nap} &) ; head -c 200000000 /dev/zero; echo x >&2; sleep ${nap}`;

  test("is gone when its time is over, with output cut exactly", async () => {
    const nap = distinctNap();
    // It would be rejected if anything of it were left two seconds after.
    const result = await box.run({ stages: [shellStage(stubborn(nap))], timeoutMs: 1500, maxOutputBytes: 1000 });
    expect(result).toMatchObject({ isTimedOut: true, isCut: true, exitCode: 137 });
    expect(result.stdout).toEqual(new Uint8Array(1000));
    await expect.poll(() => sleepers(nap)).toEqual([]);
  });

  test("is gone when nobody wants it any longer", async () => {
    const nap = distinctNap();
    const stop = new AbortController();
    const result = await box.run(
      { stages: [shellStage(`trap "" TERM; setsid sleep ${nap} & sleep ${nap} & echo up; wait`)] },
      { signal: stop.signal, onOutput: () => stop.abort() },
    );
    expect(result).toMatchObject({ isTimedOut: false, exitCode: 137 });
    expect(textOf(result.stdout)).toBe("up\n");
    await expect.poll(() => sleepers(nap)).toEqual([]);
  });

  test("is gone whenever it is called off, however early", async () => {
    const nap = distinctNap();
    await box.shell("true");
    // At any moment of the start, none of which can be waited for.
    for (let turn = 0; turn < 8; turn++) {
      const stop = new AbortController();
      const over = box.run({ stages: [shellStage(`sleep ${nap}`)] }, { signal: stop.signal });
      await new Promise((resolve) => setTimeout(resolve, turn * 2));
      stop.abort();
      expect((await over).exitCode).toBe(137);
    }
    await expect.poll(() => sleepers(nap)).toEqual([]);
  });

  test("is not even started when it was called off before", async () => {
    const stop = new AbortController();
    stop.abort(new Error("called off"));
    await expect(box.run({ stages: [shellStage("touch ran")] }, { signal: stop.signal })).rejects.toThrow("called off");
    expect(await box.shell("ls")).toBe("");
  });

  test("is not started, or gone, when it is called off at once", async () => {
    const stop = new AbortController();
    const over = box.run({ stages: [shellStage("sleep 1; touch ran")] }, { signal: stop.signal });
    stop.abort(new Error("called off"));
    // As root there is something to be made before the first: it had not started yet.
    expect(await over.then(({ exitCode }) => exitCode).catch(({ message }) => message)).toBeOneOf([137, "called off"]);
    expect(await box.shell("ls")).toBe("");
  });

  test("ends a pipeline as well", async () => {
    const nap = distinctNap();
    const result = await box.run({
      stages: [shellStage(`sleep ${nap}`), shellStage(`trap "" TERM; sleep ${nap}`)],
      timeoutMs: 300,
    });
    expect(result.isTimedOut).toBe(true);
    await expect.poll(() => sleepers(nap)).toEqual([]);
  });
});

describe("output", () => {
  test("exactly as much as allowed is whole; one byte more is cut", async () => {
    const print = (count: number) =>
      box.run({ stages: [shellStage(`head -c ${count} /dev/zero`)], maxOutputBytes: 100_000 });
    const whole = await print(100_000);
    expect([whole.stdout.length, whole.isCut]).toEqual([100_000, false]);
    const cut = await print(100_001);
    expect([cut.stdout.length, cut.isCut]).toEqual([100_000, true]);
  });

  test("errors have a limit of their own", async () => {
    const result = await box.run({ stages: [shellStage("printf 12345; printf 123456789 >&2")], maxOutputBytes: 5 });
    expect([textOf(result.stdout), textOf(result.stderr), result.isCut]).toEqual(["12345", "12345", true]);
  });

  test("a watcher hears what is kept, and no more", async () => {
    const heard = { stdout: "", stderr: "" };
    const result = await box.run(
      {
        stages: [shellStage("printf abc; printf ABC >&2; head -c 100000 /dev/zero | tr '\\0' x")],
        maxOutputBytes: 5000,
      },
      { onOutput: (stream, bytes) => (heard[stream] += textOf(bytes)) },
    );
    expect(heard).toEqual({ stdout: textOf(result.stdout), stderr: "ABC" });
    expect(heard.stdout).toBe(`abc${"x".repeat(4997)}`);
  });

  test("a watcher that fails ends the command, and is told so", async () => {
    const nap = distinctNap();
    const failing = () => {
      throw new Error("cannot listen");
    };
    await expect(box.run({ stages: [shellStage(`echo x; sleep ${nap}`)] }, { onOutput: failing })).rejects.toThrow(
      "cannot listen",
    );
  });

  test("pieces of any size add up to the first bytes", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 40 })), fc.nat(200), (pieces, maxBytes) => {
        const output = new BoundedOutput(maxBytes);
        const heard = pieces.map((piece) => Buffer.from(output.add(piece)));
        const all = Buffer.concat(pieces);
        expect(Buffer.from(output.bytes)).toEqual(all.subarray(0, maxBytes));
        expect(Buffer.concat(heard)).toEqual(all.subarray(0, maxBytes));
        expect(output.isCut).toBe(all.length > maxBytes);
      }),
    );
  });
});
