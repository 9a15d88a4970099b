/** The gateway with effects as one bundle, as the product itself is bundled: a start from source takes seconds. */
import { copyFile, glob, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

export interface GatewayProgram {
  readonly file: string;
  dispose(): Promise<void>;
}

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

export async function buildGatewayProgram(): Promise<GatewayProgram> {
  const directory = await mkdtemp(join(tmpdir(), "surety-faults-program-"));
  const dispose = (): Promise<void> => rm(directory, { recursive: true, force: true });
  try {
    await bundleInto(directory);
  } catch (error) {
    await dispose();
    throw error;
  }
  return { file: join(directory, "gateway.js"), dispose };
}

async function bundleInto(directory: string): Promise<void> {
  const bundle = await rolldown({
    cwd: ROOT,
    platform: "node",
    input: {
      gateway: "test/faults/gateway-with-effects.ts",
      "writer-worker": "src/adapters/store-sqlite/writer-worker.ts",
      "reader-worker": "src/adapters/store-sqlite/reader-worker.ts",
      "records-worker": "src/boot/records-worker.ts",
      "project-records": "test/faults/project-records.ts",
    },
    resolve: { conditionNames: ["node", "import", "default"] },
  });
  await bundle.write({
    dir: directory,
    format: "esm",
    entryFileNames: "[name].js",
    chunkFileNames: "[name]-[hash].js",
  });
  await bundle.close();
  for await (const prompt of glob("*.txt", { cwd: join(ROOT, "src/prompts") })) {
    await copyFile(join(ROOT, "src/prompts", prompt), join(directory, prompt));
  }
}
