/** The reader thread: lists and backups, so that neither blocks the main thread or the writer. */
import { parentPort, workerData } from "node:worker_threads";
import { Defect } from "../../kernel/vocabulary/defect.ts";
import { backUp } from "./backup.ts";
import { connectReader, preparing } from "./connection.ts";
import { readList } from "./list-reads.ts";
import { failureOf } from "./sqlite-failure.ts";
import type { ReaderReply, ReaderRequest } from "./thread-messages.ts";

if (parentPort === null) throw new Defect("the reader runs as a thread only");
const port = parentPort;
const { file } = workerData as { readonly file: string };
const prepare = preparing(connectReader(file));

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
  return readList(prepare, request.list, request.args);
}
