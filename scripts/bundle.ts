/**
 * What starts is a bundle (design §9): one file for the start, chunks for what is loaded later, the threads of store
 * and records beside it, and the control UI's files. Made at install (`prepare`); `dist/` is replaced whole, so that nothing stale
 * is left to be started.
 */
import { chmod, copyFile, glob, rename, rm } from "node:fs/promises";
import { rolldown } from "rolldown";
import { build as buildPages } from "vite";

const OUTPUT = "dist";
const MAKING = `${OUTPUT}.making-${process.pid}`;

const bundle = await rolldown({
  platform: "node",
  input: {
    surety: "src/boot/surety.ts",
    library: "src/boot/embedding/library.ts",
    "writer-worker": "src/adapters/store-sqlite/writer-worker.ts",
    "reader-worker": "src/adapters/store-sqlite/reader-worker.ts",
    "records-worker": "src/boot/records-worker.ts",
  },
  resolve: { conditionNames: ["node", "import", "default"] },
});
await bundle.write({
  dir: MAKING,
  format: "esm",
  entryFileNames: "[name].js",
  chunkFileNames: "[name]-[hash].js",
  comments: false,
  banner: (chunk) => (chunk.name === "surety" && chunk.isEntry ? "#!/usr/bin/env node" : ""),
});
await bundle.close();
// Read beside the module that asks for them, which is in the bundle now.
for await (const prompt of glob("*.txt", { cwd: "src/prompts" })) {
  await copyFile(`src/prompts/${prompt}`, `${MAKING}/${prompt}`);
}
await copyFile("src/boot/embedding/surety-api.ts", `${MAKING}/library.d.ts`);
await buildPages({ configFile: "ui/vite.config.ts", logLevel: "warn", build: { outDir: `../${MAKING}/ui` } });
await chmod(`${MAKING}/surety.js`, 0o755);
await rm(OUTPUT, { recursive: true, force: true });
await rename(MAKING, OUTPUT);
