/**
 * `files.json` beside the built files: all that is served, with types and sizes, and the pages. A gateway serves what stands
 * in it and nothing else, so no path of a request ever becomes a path of the disk.
 */
import type { Plugin } from "vite";

const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
  woff2: "font/woff2",
};

export function assetManifest(pages: readonly string[]): Plugin {
  return {
    name: "surety-files",
    enforce: "post",
    generateBundle(_options, bundle) {
      const files = Object.keys(bundle).map((name) => {
        const type = TYPES[name.slice(name.lastIndexOf(".") + 1)];
        if (type === undefined) throw new Error(`${name} has no content type; add it to ui/vite-manifest.ts`);
        return [name, type] as const;
      });
      const source = JSON.stringify({ pages, files: Object.fromEntries(files) });
      this.emitFile({ type: "asset", fileName: "files.json", source });
    },
  };
}
