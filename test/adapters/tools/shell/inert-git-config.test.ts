import { expect, test } from "vitest";
import { isInertGitConfig } from "../../../../src/adapters/tools/shell/inspect-repository.ts";

const PLAIN = `[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
# a comment
[remote "origin"]
\turl = https://example.org/x.git
\tfetch = +refs/heads/*:refs/remotes/origin/*
[branch "main"]
\tremote = origin
[user]
  name = A "B" C
`;

test("what git itself writes for a plain repository starts nothing", () => {
  expect(isInertGitConfig(PLAIN)).toBe(true);
  expect(isInertGitConfig("")).toBe(true);
});

test.each([
  "[core]\n\tfsmonitor = ./x",
  "[core]\n\tpager = ./x",
  "[core]\n\thooksPath = hooks",
  "[core]\n\tworktree = /",
  "[core]\n\tsshCommand = ./x",
  '[filter "x"]\n\tclean = ./x',
  '[diff "x"]\n\ttextconv = ./x',
  "[diff]\n\texternal = ./x",
  '[merge "x"]\n\tdriver = ./x',
  "[alias]\n\tst = !id",
  "[include]\n\tpath = other",
  '[includeIf "gitdir:."]\n\tpath = other',
  "[extensions]\n\tworktreeConfig = true",
  '[remote "o"]\n\tpromisor = true',
  '[remote "o"]\n\tuploadpack = ./x',
  "[gpg]\n\tprogram = ./x",
  "[CORE]\n\tFsMonitor = ./x",
  "[core] fsmonitor = ./x",
  "[core]\n\tbare = false \\\n\tfsmonitor = ./x",
  "[remote.o]\n\turl = x",
  '[remote "a\\"b"]\n\turl = x',
  "fsmonitor = ./x",
  "\ufeff[core]\n\tbare = false",
  "[core]\r[alias]\n\tx = !id",
])("%j is not believed", (added) => {
  expect(isInertGitConfig(added)).toBe(false);
  expect(isInertGitConfig(`${PLAIN}${added}\n${PLAIN}`)).toBe(false);
});
