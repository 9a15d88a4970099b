/**
 * The product's own command line, whose `start` has the effect tools beside the built-in ones; the first word is where
 * their ledger listens. Everything else is wired as in `src/boot/surety.ts`.
 */
import { COMMAND_CATALOGUE } from "../../src/boot/command-catalogue.ts";
import { startWith } from "../../src/boot/commands/start.ts";
import { main } from "../../src/boot/main.ts";
import { effectTools } from "./effect-tools.ts";

const [ledgerUrl = "", ...words] = process.argv.slice(2);
const { stdin, stdout, stderr } = process;
const catalogue = COMMAND_CATALOGUE.map((row) =>
  row.name === "start" ? { ...row, load: () => Promise.resolve(startWith(effectTools(ledgerUrl))) } : row,
);
process.exitCode = await main(words, { stdin, stdout, stderr }, (name) => process.env[name], catalogue);
