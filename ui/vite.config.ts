/** How the control UI is built; `scripts/bundle.ts` runs this at install, `npm run dev:ui` serves it with a gateway behind. */
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { assetManifest } from "./vite-manifest.ts";
import { operationTable } from "./vite-operations.ts";

const folder = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
/** One page a folder; its name is the first word of its addresses. */
const pages = readdirSync(folder("src/pages"), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
  .sort();
const gateway = process.env["SURETY_URL"] ?? "http://127.0.0.1:19789";
const toGateway = Object.fromEntries(["/api", "/v1", "/login", "/openapi.json", "/healthz"].map((at) => [at, gateway]));

export default defineConfig({
  root: folder("."),
  plugins: [react(), operationTable(), assetManifest(pages)],
  resolve: { conditions: ["browser", "module", "import", "default"] },
  build: {
    outDir: "../dist/ui",
    emptyOutDir: true,
    target: "es2024",
    // Data addresses are refused by the page's policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  worker: { format: "es", plugins: () => [operationTable()] },
  server: { proxy: toGateway },
});
