/** `surety secrets set|ls|rm|reset`: values for tools and channels, by name. A value comes from standard input, never as an argument. */
import { rm } from "node:fs/promises";
import { openSqliteStore } from "../../adapters/store-sqlite/open-sqlite-store.ts";
import { secretProblem } from "../../kernel/redaction/secret-encodings.ts";
import { timestampOf } from "../../runtime/ports/clock.ts";
import type { Store, Write } from "../../runtime/ports/store.ts";
import { BootError, usageError } from "../boot-error.ts";
import type { Action, Command, CommandContext } from "../command.ts";
import { valueIn, withOperations } from "../connect-assistant.ts";
import { takeHome } from "../gateway-access.ts";
import { assertDatabasePresent, findExistingHome } from "../home.ts";
import { readStandardInput } from "../read-standard-input.ts";
import { openStoredSecrets } from "../stored-secrets.ts";
import { systemClock } from "../system-clock.ts";
import { systemRandomness } from "../system-randomness.ts";

const hint = (code: string): string => (code === "not_found" ? "See surety secrets ls." : "See surety secrets --help.");

const set: Action = {
  summary: "store a secret, read from standard input, or replace it",
  arguments: ["NAME"],
  examples: ["surety secrets set crm-hook < secret.txt", "op read op://vault/crm/hook | surety secrets set crm-hook"],
  async run(context) {
    const [name = ""] = context.arguments;
    const { stdin } = context.streams;
    if (stdin.isTTY)
      throw usageError("the value comes from standard input", `Pipe it in: surety secrets set ${name} < FILE`);
    const value = await readStandardInput(stdin);
    const stored = await store(context, name, value);
    context.output.result(stored, () => {
      context.output.line(`${name} is stored; tools may be given it as ⟦secret:${name}⟧`);
    });
  },
};

async function store(context: CommandContext, name: string, value: string) {
  let stored: { readonly name: string; readonly updated_at: string } | null = null;
  try {
    await withOperations(context, async (operations) => {
      stored = valueIn(await operations.call("secrets.set", { name, value }), hint);
    });
  } catch (error) {
    // A channel cannot begin without this very secret.
    const isNeeded = error instanceof BootError && error.code === "channel.secret_missing";
    if (!isNeeded || secretProblem(value) !== null) throw error;
    stored = await withStore(context, async (opened) => {
      const secrets = await openStoredSecrets(context.home, opened, systemRandomness);
      const unused = { prepare: () => null, install: async () => {} };
      const service = secrets.service({ store: opened, clock: systemClock, ...unused });
      const { updatedAtMs } = valueIn(await service.set(name, value, "operator"), hint);
      return { name, updated_at: timestampOf(updatedAtMs) };
    });
  }
  return stored;
}

const ls: Action = {
  summary: "list the names of the stored secrets",
  examples: ["surety secrets ls"],
  run: (context) =>
    withOperations(context, async (operations) => {
      const listed = valueIn(await operations.call("secrets.list", {}), hint);
      const rows = listed.secrets.map(({ name, updated_at }) => [name, updated_at]);
      context.output.result(listed, () => context.output.table(["NAME", "SET AT"], rows));
    }),
};

const remove: Action = {
  summary: "remove a stored secret",
  arguments: ["NAME"],
  examples: ["surety secrets rm crm-hook"],
  run: (context) =>
    withOperations(context, async (operations) => {
      const [name = ""] = context.arguments;
      const removed = valueIn(await operations.call("secrets.remove", { name }), hint);
      context.output.result(removed, () => context.output.line(`${name} is removed`));
    }),
};

const reset: Action = {
  summary: "remove all stored secrets when their key is lost; stop the gateway before",
  examples: ["surety secrets reset"],
  run: removeAll,
};

async function removeAll(context: CommandContext): Promise<void> {
  const names = await withStore(context, async (opened) => {
    const stored = (await opened.storedSecrets()).map(({ name }) => name);
    const ts = timestampOf(systemClock.nowMs());
    const removals = stored.map((name): Write => {
      return { type: "remove-secret", draft: { kind: "secret.removed", ts, actor: "operator", data: { name } } };
    });
    await opened.commit(removals, "barrier");
    return stored;
  });
  const { output, home } = context;
  await rm(home.secretsKeyFile, { force: true });
  output.result({ removed: names }, () => output.line(`removed: ${names.join(", ") || "none were stored"}`));
}

/** The store alone: the rest of the home cannot be opened without its secrets. */
async function withStore<Done>({ home }: CommandContext, use: (store: Store) => Promise<Done>): Promise<Done> {
  await findExistingHome(home);
  await assertDatabasePresent(home);
  const lock = takeHome(home);
  try {
    const surroundings = { clock: systemClock, random: systemRandomness, lock };
    const opened = await openSqliteStore({ home: home.directory, ...surroundings });
    return await use(opened).finally(() => opened.close());
  } finally {
    lock.release();
  }
}

export const command: Command = { actions: { set, ls, rm: remove, reset } };
