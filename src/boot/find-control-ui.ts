/** Where the built control UI is: beside the bundle, or in `dist/` when the source runs. */
const FOLDER = import.meta.url.endsWith(".ts") ? "../../dist/ui/" : "./ui/";

export function findControlUi(): URL {
  return new URL(FOLDER, import.meta.url);
}
