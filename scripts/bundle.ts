/**
 * What starts is a bundle (design §9): few chunks, because each file costs the loader more than its code does. What the
 * gateway needs at its start is one chunk, what is loaded later has chunks of its own, and each thread is a file with
 * nothing but its own code. The control UI's files are beside them. Made at install (`prepare`); `dist/` is replaced whole,
 * so that nothing stale is left to be started.
 */
import { chmod, copyFile, glob, rename, rm, writeFile } from "node:fs/promises";
import { type OutputOptions, type Plugin, rolldown } from "rolldown";
import { build as buildPages } from "vite";
import { libraryTypes } from "./published-library.ts";

const OUTPUT = "dist";
const MAKING = `${OUTPUT}.making-${process.pid}`;

const THREADS = {
  "writer-worker": "src/adapters/store-sqlite/writer-worker.ts",
  "reader-worker": "src/adapters/store-sqlite/reader-worker.ts",
  "records-worker": "src/boot/records-worker.ts",
  "shadow-worker": "src/boot/shadow-worker.ts",
};
/** The gateway imports these at each start, behind `import()`. */
const AT_START = ["src/boot/main.ts", "src/boot/commands/start.ts"];

/**
 * An import of one of Node's modules reads every export of it, and some of them load others: a tenth of the start. An
 * older Node has no `getBuiltinModule`, and the entry has to tell it so.
 */
const leanImports: Plugin = {
  name: "lean-imports",
  renderChunk: (code, { isEntry, name }) =>
    isEntry && name === "surety"
      ? null
      : code
          .replace(/^import (?:\* as )?(\w+) from "(node:[\w/]+)";$/gm, 'const $1 = process.getBuiltinModule("$2");')
          .replace(
            /^import (\{[^}]*\}) from "(node:[\w/]+)";$/gm,
            (_, names: string, from: string) =>
              `const ${names.replaceAll(" as ", ": ")} = process.getBuiltinModule("${from}");`,
          ),
};

const shared: OutputOptions = { dir: MAKING, format: "esm", entryFileNames: "[name].js", comments: false };

const start = await modulesOf(AT_START);
await bundle(
  { surety: "src/boot/surety.ts", library: "src/boot/embedding/library.ts" },
  {
    chunkFileNames: "[name]-[hash].js",
    banner: (chunk) => (chunk.name === "surety" && chunk.isEntry ? "#!/usr/bin/env node" : ""),
    codeSplitting: { groups: [{ name: "start", test: (id) => start.has(id) }] },
  },
);
for (const [name, file] of Object.entries(THREADS)) await bundle({ [name]: file }, { codeSplitting: false });

// Read beside the module that asks for them, which is in the bundle now.
for await (const prompt of glob("*.txt", { cwd: "src/prompts" })) {
  await copyFile(`src/prompts/${prompt}`, `${MAKING}/${prompt}`);
}
await writeFile(`${MAKING}/library.d.ts`, libraryTypes());
await buildPages({ configFile: "ui/vite.config.ts", logLevel: "warn", build: { outDir: `../${MAKING}/ui` } });
await chmod(`${MAKING}/surety.js`, 0o755);
await rm(OUTPUT, { recursive: true, force: true });
await rename(MAKING, OUTPUT);

async function open(input: Record<string, string> | string[]) {
  const resolve = { conditionNames: ["node", "import", "default"] };
  // It finds the library for this system beside itself.
  const external = ["sqlite-vec"];
  return await rolldown({ platform: "node", input, resolve, external, plugins: [leanImports] });
}

async function bundle(input: Record<string, string>, options: OutputOptions): Promise<void> {
  const made = await open(input);
  await made.write({ ...shared, ...options });
  await made.close();
}

/** The modules that these files import, without what they load later. */
async function modulesOf(files: string[]): Promise<ReadonlySet<string>> {
  const made = await open(files);
  const { output } = await made.generate({ format: "esm" });
  await made.close();
  const chunks = new Map(output.flatMap((chunk) => (chunk.type === "chunk" ? [[chunk.fileName, chunk]] : [])));
  const reached = new Set(output.flatMap((chunk) => (chunk.type === "chunk" && chunk.isEntry ? [chunk] : [])));
  for (const chunk of reached) {
    for (const name of chunk.imports) {
      const imported = chunks.get(name);
      if (imported !== undefined) reached.add(imported);
    }
  }
  return new Set([...reached].flatMap((chunk) => chunk.moduleIds));
}
