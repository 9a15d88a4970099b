/**
 * The inbox as a folder of the workspace. What a stranger sent lies in a folder of its own, which is marked as what an
 * untrusted run wrote: one mark, however many files they send.
 */
import type { Labels } from "../../../kernel/vocabulary/labels.ts";
import type { Inbox, InboxFile } from "../../../runtime/ports/inbox.ts";
import { atomicWrite, removeIfThere, temporaryNameOf } from "./atomic-write.ts";
import { entryPath } from "./directory-handle.ts";
import type { UntrustedMarks } from "./untrusted-marks.ts";
import { inCreatedDirectory, inDirectory, type Workspace } from "./workspace.ts";
import { fileNames } from "./workspace-path.ts";

const OWN = ["inbox"] as const;
const OUTSIDERS = [...OWN, "from-outside"] as const;
const { signal: NEVER } = new AbortController();

export function workspaceInbox(workspace: Workspace, marks: UntrustedMarks): Inbox {
  let written = 0;

  async function placeOne({ name, data }: InboxFile, seen: Labels): Promise<string> {
    const folder = seen.integrity === "untrusted" ? OUTSIDERS : OWN;
    written += 1;
    const context = { seen, idempotencyKey: null, runId: OWN[0], requestId: String(written) };
    await marks.beforeWrite(folder, context);
    return await inCreatedDirectory(workspace, folder, async (directory) => {
      const content = Buffer.from(data, "base64");
      const temporaryName = temporaryNameOf(context);
      for (let copy = 1; ; copy += 1) {
        const free = copy === 1 ? name : numbered(name, copy);
        if (await atomicWrite(directory, { name: free, temporaryName, content, mode: "add" }, NEVER)) {
          return [...folder, free].join("/");
        }
      }
    });
  }

  return {
    async place(files, labels) {
      const placed: string[] = [];
      for (const file of files) placed.push(await placeOne(file, labels));
      return placed;
    },
    async remove(paths) {
      for (const path of paths) {
        const { parents, name } = fileNames(path);
        await inDirectory(workspace, parents, (directory) => removeIfThere(entryPath(directory, name)));
      }
    },
  };
}

function numbered(name: string, copy: number): string {
  const at = name.lastIndexOf(".");
  return `${name.slice(0, at)}-${copy}${name.slice(at)}`;
}
