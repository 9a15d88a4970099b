/** The reader thread: lists and backups, so that neither blocks the main thread or the writer. */
import { parentPort, workerData } from "node:worker_threads";
import { Defect } from "../../kernel/vocabulary/defect.ts";
import { backUp } from "./backup.ts";
import { connectExtensibleReader, preparing } from "./connection.ts";
import { readList } from "./list-reads.ts";
import { failureOf } from "./sqlite-failure.ts";
import type { ReaderReply, ReaderRequest } from "./thread-messages.ts";
import { loadVectorSearch } from "./vector-search.ts";

if (parentPort === null) throw new Defect("the reader runs as a thread only");
const port = parentPort;
const { file } = workerData as { readonly file: string };
const db = connectExtensibleReader(file);
const prepare = preparing(db);
let loading: Promise<void> | null = null;

port.on("message", (request: ReaderRequest) => {
  answer(request).then(
    (value) => reply({ id: request.id, value }),
    (error: unknown) => reply({ id: request.id, failure: failureOf(error) }),
  );
});

function reply(message: ReaderReply): void {
  port.postMessage(message);
}

async function answer(request: ReaderRequest): Promise<unknown> {
  if ("backupTo" in request) return await backUp(file, request.backupTo);
  if (request.list === "nearestMemories") {
    loading ??= loadVectorSearch(db);
    await loading;
  }
  return readList(prepare, request.list, request.args);
}
