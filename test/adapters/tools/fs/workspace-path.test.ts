import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { directoryNames, fileNames } from "../../../../src/adapters/tools/fs/workspace-path.ts";
import { ToolFailure } from "../../../../src/adapters/tools/tool-failure.ts";
import { verifies } from "../../../requirements.ts";

function codeOf(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    expect(error).toBeInstanceOf(ToolFailure);
    return (error as ToolFailure).code;
  }
  return "ok";
}

describe("paths that lead out are denied", () => {
  const escapes = [
    "..",
    "../x",
    "../../etc/passwd",
    "a/../../x",
    "a/b/../../../x",
    "./../x",
    ".//..//x",
    "../workspace-evil/x",
    "/",
    "/etc/passwd",
    "//etc/passwd",
    "/proc/self/environ",
    "~",
    "~/.ssh/id_ed25519",
    "~root/x",
    "..\\..\\x",
    "a\\..\\..\\x",
    "a/..\\../x",
  ];
  for (const path of escapes) {
    verifies("S-4.2/paths", JSON.stringify(path), () => {
      expect(codeOf(() => fileNames(path))).toBe("policy.denied");
      expect(codeOf(() => directoryNames(path))).toBe("policy.denied");
    });
  }
});

describe("names that mean something else somewhere are invalid", () => {
  const forms = [
    "C:\\Windows\\win.ini",
    "C:/Windows/win.ini",
    "C:x",
    "c:",
    "\\\\server\\share\\x",
    "\\\\?\\C:\\x",
    "\\\\.\\PhysicalDrive0",
    "\\etc\\passwd",
    "a\\b",
    "ok.txt:stream",
    "ok.txt::$DATA",
    "a:b/c",
    "CON",
    "con.txt",
    "nul",
    "NUL .txt",
    "a/Aux/b",
    "com1",
    "COM9.log",
    "lpt¹",
    "CONIN$",
    "a.",
    "a ",
    "a./b",
    "a /b",
    "...",
    "a\0b",
    "a\0/../../etc/passwd",
    "a\nb",
    "a\rb",
    "a\u001b[2Jb",
    "a\u007fb",
    "a\u0085b",
    "a\u202etxt.exe",
    "a\u2066b",
    "a\u2028b",
    "\ufeffa",
    "a\u200bb",
    "a\u{e0001}b",
    "a\u00a0b",
    "a\u3164b",
    "a\ud800b",
    "👩\u200d👧.txt",
    `${"a".repeat(256)}`,
    `${"é".repeat(128)}`,
    "a/".repeat(2100) + "b",
    "a/".repeat(64) + "b",
  ];
  for (const path of forms) {
    verifies("S-4.2/paths", JSON.stringify(path.slice(0, 40)), () => {
      expect(codeOf(() => fileNames(path))).toBe("tool.input_invalid");
    });
  }

  test.each(["", ".", "./", "a/", "a/.", "a/..", "a/b/..", "a//"])("%j names no file", (path) => {
    expect(codeOf(() => fileNames(path))).toBe("tool.input_invalid");
  });
});

describe("everything else is just names", () => {
  test.each([
    ["a.txt", ["a.txt"]],
    ["a/b.txt", ["a", "b.txt"]],
    ["./a//b.txt", ["a", "b.txt"]],
    ["a/./b", ["a", "b"]],
    ["a/../b", ["b"]],
    [".hidden", [".hidden"]],
    ["..a/b..c", ["..a", "b..c"]],
    ["a~", ["a~"]],
    ["..%2f..%2fetc%2fpasswd", ["..%2f..%2fetc%2fpasswd"]],
    ["%2e%2e/x", ["%2e%2e", "x"]],
    ["．．／．．／etc/passwd", ["．．／．．／etc", "passwd"]],
    ["‥/‥/etc", ["‥", "‥", "etc"]],
    ["$HOME/x", ["$HOME", "x"]],
    ["`id`", ["`id`"]],
    ["-rf", ["-rf"]],
    ["console.log", ["console.log"]],
    ["nullable.ts", ["nullable.ts"]],
    ["com10", ["com10"]],
    ["__proto__", ["__proto__"]],
    ["é", ["é"]],
    ["👧🏽.txt", ["👧🏽.txt"]],
    ["a b.txt", ["a b.txt"]],
    ["a".repeat(255), ["a".repeat(255)]],
  ])("%j", (path, names) => {
    const { names: all, parents, name, shown } = fileNames(path);
    expect([...parents, name]).toEqual(names);
    expect(all).toEqual(names);
    expect(shown).toBe(names.join("/"));
    expect(directoryNames(path)).toEqual(names);
  });

  test.each([".", "./", "a/..", "././"])("%j is the workspace itself", (path) => {
    expect(directoryNames(path)).toEqual([]);
  });
});

test("whatever passes is entries of directories, one after the other, beneath the root", () => {
  const piece = fc.oneof(
    fc.constantFrom("..", ".", "", "/", "\\", "~", ":", "\0", "a", "con", " ", "．．", "%2e", "‥"),
    fc.string({ unit: "binary", maxLength: 4 }),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), fc.constantFrom("", "/"), (pieces, glue) => {
      const path = pieces.join(glue);
      if (codeOf(() => directoryNames(path)) !== "ok") return;
      for (const name of directoryNames(path)) {
        expect(["", ".", ".."]).not.toContain(name);
        expect(name).not.toMatch(/[/\\\0:]/);
        expect(Buffer.byteLength(name)).toBeLessThanOrEqual(255);
        expect(path).toContain(name);
      }
    }),
    { numRuns: 2000 },
  );
});

test("a path of plain names is read as the rules would read it", () => {
  const name = fc.oneof(
    fc.constantFrom(
      "a",
      "A-1",
      "_",
      "-",
      "a.b",
      "a..b",
      "note-1.txt",
      "con",
      "Con.txt",
      "con-",
      "com1",
      "LPT9.log",
      "com10",
      "nul",
    ),
    fc.constantFrom(
      "",
      ".",
      "..",
      ".a",
      "a.",
      "...",
      "~",
      "a~",
      "con ",
      "com\u00b9",
      "conin$",
      "a:b",
      "a\\b",
      "a b",
      "\u017f",
      "\u212a",
    ),
    fc.string({ unit: "grapheme-ascii", maxLength: 6 }),
    fc.string({ unit: "binary", maxLength: 3 }),
    fc.integer({ min: 120, max: 260 }).map((length) => "n".repeat(length)),
  );
  const path = fc.oneof(
    fc.array(name, { minLength: 1, maxLength: 4 }),
    fc.integer({ min: 60, max: 68 }).map((depth) => Array.from({ length: depth }, () => "a")),
  );
  fc.assert(
    fc.property(path, (names) => {
      const written = names.join("/");
      // At the beginning of the whole these two mean something else.
      if (/^[/~]/.test(written)) return;
      // A dot in front of it makes it no plain path, and means the same.
      expect(outcomeOf(() => fileNames(written))).toEqual(outcomeOf(() => fileNames(`./${written}`)));
      expect(outcomeOf(() => directoryNames(written))).toEqual(outcomeOf(() => directoryNames(`./${written}`)));
    }),
    { numRuns: 3000 },
  );
});

function outcomeOf(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    expect(error).toBeInstanceOf(ToolFailure);
    return [(error as ToolFailure).code, (error as ToolFailure).message];
  }
}
