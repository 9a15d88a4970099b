/** `surety audit checkpoint|verify`: signs the state of the home to keep elsewhere, and compares the home with what was kept. */
import { signHome } from "../../assistant/verification/keep-checkpoints.ts";
import { readCheckpointRecords, toRecordLine } from "../../kernel/journal/checkpoint-records.ts";
import { BootError } from "../boot-error.ts";
import type { Action, Command } from "../command.ts";
import { assertNewFile, writeNewFile } from "../durable-file.ts";
import { readBoundedFile, UnreadableFile } from "../read-bounded-file.ts";
import { withHome } from "../read-home.ts";
import { keyMissing } from "../signing-key.ts";
import { systemClock } from "../system-clock.ts";
import { checkHome, readWitnesses } from "./verify.ts";

const MAX_FILE_BYTES = 256 * 1024 * 1024;

const checkpoint: Action = {
  summary: "sign the state of the home; keep the file elsewhere, so that a roll-back is noticed",
  arguments: ["[FILE]"],
  examples: ["surety audit checkpoint /mnt/usb/surety-checkpoint.json", "surety audit checkpoint"],
  async run(context) {
    const [name] = context.arguments;
    const file = name === undefined ? null : await assertNewFile(name, "export");
    await withHome(context, async ({ store, signing }) => {
      if (signing === null) throw keyMissing(context.home);
      const line = toRecordLine(await signHome({ store, key: signing, clock: systemClock }));
      if (file === null) return context.output.line(line);
      await writeNewFile(file, `${line}\n`, "export");
      context.output.result({ file }, () => context.output.line(`wrote ${file}`));
    });
  },
};

const verify: Action = {
  summary: "compare the home with its own checkpoints, and with one kept elsewhere",
  options: {
    since: { type: "string", value: "FILE", summary: "a checkpoint that surety audit checkpoint wrote" },
    key: { type: "string", value: "KEY", summary: "the public key that must have signed it; another one is an error" },
  },
  examples: ["surety audit verify --since /mnt/usb/surety-checkpoint.json"],
  async run(context) {
    const name = context.options.text("since");
    const since = name === undefined ? null : await readSince(name);
    const witnesses = await readWitnesses(context, since);
    return await withHome(context, (home) => checkHome(context, home, witnesses));
  },
};

async function readSince(name: string): Promise<Uint8Array> {
  let bytes: Uint8Array | null;
  try {
    bytes = await readBoundedFile(name, MAX_FILE_BYTES);
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    throw unreadable(`${name} cannot be read (${error.why})`, error);
  }
  if (bytes === null) throw new BootError("not_found", `there is no file ${name}`, "Check its path.");
  // What a terminal or an editor made of it may end without a line break.
  const text = bytes.at(-1) === 0x0a ? bytes : Buffer.concat([bytes, Buffer.from("\n")]);
  const { records, bad } = readCheckpointRecords(text);
  if (bad !== null || !records.some(({ kind }) => kind === "checkpoint")) {
    throw unreadable(`${name} is not a checkpoint${bad === null ? "" : `: ${bad.problem}`}`);
  }
  return text;
}

function unreadable(message: string, cause?: UnreadableFile): BootError {
  return new BootError("verify.unreadable", message, "Name a file that surety audit checkpoint wrote.", { cause });
}

export const command: Command = {
  summary: "sign the state of the home, and compare the home with it later",
  actions: { checkpoint, verify },
};
