/** The environment of a thread of ours: empty but for the compile cache, which a thread takes from its environment only. */
import { getCompileCacheDir } from "node:module";

export function threadEnvironment(): Record<string, string> {
  const directory = getCompileCacheDir();
  return directory === undefined ? {} : { NODE_COMPILE_CACHE: directory };
}
