/**
 * `fs.search`: lines of text files, or names of files, beneath a path of the workspace. `search-tree.ts` owns what is
 * searched, `search-thread.ts` that it can be stopped at any time.
 */
import { Type } from "typebox";
import { defineTool, fieldOf } from "../define-tool.ts";
import { lineMatcher } from "./line-matcher.ts";
import type { UntrustedMarks } from "./untrusted-marks.ts";
import type { Workspace } from "./workspace.ts";
import { directoryNames } from "./workspace-path.ts";

const DEFAULT_MAX_RESULTS = 50;
const MAX_RESULTS = 500;
const TIMEOUT_MS = 20_000;

const parameters = Type.Object(
  {
    pattern: Type.String({ description: "Empty: find names" }),
    path: Type.Optional(Type.String({ minLength: 1, default: "." })),
    glob: Type.Optional(Type.String({ maxLength: 500, default: "", description: "Such as *.ts" })),
    regex: Type.Optional(Type.Boolean({ default: false })),
    ignore_case: Type.Optional(Type.Boolean({ default: false })),
    max_results: Type.Optional(Type.Integer({ minimum: 1, default: DEFAULT_MAX_RESULTS })),
  },
  { additionalProperties: false },
);

export function searchTool(workspace: Workspace, marks: UntrustedMarks) {
  return defineTool({
    name: "fs.search",
    description: "Search files of the workspace for a text, line by line.",
    parameters,
    risk: "read_only",
    idempotency: "read_only",
    timeoutMs: TIMEOUT_MS,
    aliases: [{ name: "file_search", rename: { query: "pattern", directory: "path" } }],
    async plan({ path, pattern, regex, ignore_case: ignoreCase, glob }) {
      const names = directoryNames(path);
      const target = [workspace.root, ...names].join("/");
      if (pattern !== "") lineMatcher({ pattern, regex, ignoreCase });
      const wanted = pattern === "" ? "names" : `${regex ? "the expression" : "the text"} ${JSON.stringify(pattern)}`;
      const where = glob === "" ? "" : ` in files like ${JSON.stringify(glob)}`;
      return {
        labels: await marks.labelsOf(names),
        shown: `Search ${JSON.stringify(target)} for ${wanted}${where}`,
        plan: { targets: [target] },
      };
    },
    async run({ args, labels }, { signal }) {
      const { path, pattern, regex, glob, ignore_case: ignoreCase, max_results: maxResults } = args;
      const { searchInThread } = await import("./search-thread.ts");
      const { root, traversal } = workspace;
      const what = { pattern, regex, ignoreCase, glob, maxResults: Math.min(maxResults, MAX_RESULTS) };
      const names = directoryNames(path);
      const { matches, files, skipped, truncated } = await searchInThread({ root, traversal, names, ...what }, signal);
      await marks.assertLabelled(labels, names);
      const found = matches.map(({ path: file, line, text }) =>
        line === 0 ? { path: file } : { path: file, line, text },
      );
      return { matches: found, files, skipped, truncated };
    },
    summarize({ args, output }) {
      const matches = typeof output === "object" && output !== null && "matches" in output ? output.matches : null;
      const path = fieldOf(args, "path") ?? "the workspace";
      return Array.isArray(matches) ? `found ${matches.length} in ${path}` : `searched ${path}`;
    },
  });
}
