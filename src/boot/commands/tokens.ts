/** `surety tokens ls|add|rotate|rm`: who may come in with a token, and as whom. */
import type { WireToken } from "../../runtime/access/operations.ts";
import { TOKEN_SCOPES } from "../../runtime/ports/stored-access.ts";
import { usageError } from "../boot-error.ts";
import type { Action, Command, CommandContext } from "../command.ts";
import { valueIn, withOperations } from "../connect-assistant.ts";

const EXPIRY = { "expires-in": { type: "string", value: "SECONDS", summary: "for so long only" } } as const;
const HINTS: Readonly<Record<string, string>> = { not_found: "See surety tokens ls." };
const hintFor = (code: string): string => HINTS[code] ?? "See surety tokens --help.";

const ls: Action = {
  summary: "list the tokens: names, scopes and owners, never the tokens themselves",
  examples: ["surety tokens ls"],
  run: (context) =>
    withOperations(context, async (operations) => {
      const listed = valueIn(await operations.call("tokens.list", {}), hintFor);
      const { output } = context;
      output.result(listed, () => {
        output.table(["ID", "NAME", "SCOPE", "OWNER", "STATE", "EXPIRES"], listed.tokens.map(rowOf));
      });
    }),
};

function rowOf({ id, name, scope, owner, state, expires_at }: WireToken): readonly string[] {
  return [id, name, scope, owner ?? "", state, expires_at ?? "never"];
}

const add: Action = {
  summary: "make a token for a program or a person, and show it, this once",
  arguments: ["NAME"],
  options: {
    scope: { type: "string", value: "SCOPE", summary: "what it allows: chat, operate or admin" },
    owner: { type: "string", value: "CHANNEL:SENDER", summary: "with chat: the one it speaks for" },
    ...EXPIRY,
  },
  examples: [
    "surety tokens add phone --scope chat --owner web:anna",
    "surety tokens add ci --scope operate --expires-in 86400",
  ],
  run: (context) => {
    const { options, arguments: words } = context;
    const [name = ""] = words;
    const scope = TOKEN_SCOPES.find((each) => each === options.text("scope"));
    if (scope === undefined) {
      throw usageError(
        "--scope is required",
        "chat speaks for one sender; operate uses the assistant; admin may do everything.",
      );
    }
    const owner = options.text("owner");
    const owned = owner === undefined ? {} : { owner };
    return withOperations(context, async (operations) => {
      const expires = expiryIn(context);
      show(context, valueIn(await operations.call("tokens.add", { name, scope, ...owned, ...expires }), hintFor));
    });
  },
};

const rotate: Action = {
  summary: "give a token another secret, and show it, this once; main is written to the home's file",
  arguments: ["ID"],
  options: EXPIRY,
  examples: ["surety tokens rotate main", "surety tokens rotate token_0123"],
  run: (context) =>
    withOperations(context, async (operations) => {
      const [id = ""] = context.arguments;
      show(context, valueIn(await operations.call("tokens.rotate", { id, ...expiryIn(context) }), hintFor));
    }),
};

const rm: Action = {
  summary: "remove a token: what it has open ends at once",
  arguments: ["ID"],
  examples: ["surety tokens rm token_0123"],
  run: (context) =>
    withOperations(context, async (operations) => {
      const [id = ""] = context.arguments;
      const removed = valueIn(await operations.call("tokens.remove", { id }), hintFor);
      context.output.result(removed, () => context.output.line(`removed ${id}`));
    }),
};

function expiryIn({ options }: CommandContext): { readonly expires_in_s?: number } {
  const seconds = options.integer("expires-in", { least: 1, most: 316_224_000, example: 86_400 });
  return seconds === undefined ? {} : { expires_in_s: seconds };
}

function show({ output }: CommandContext, made: WireToken & { readonly token: string }): void {
  output.result(made, () => {
    output.line(made.token);
    output.remark(`${made.id} (${made.name}): it is not shown again, only its hash is kept`);
  });
}

export const command: Command = { actions: { ls, add, rotate, rm } };
