/** The adapters by version. A version, once released, stays: journals and contracts name it. */
import { grammarJson } from "./grammar-json.ts";
import { markerJson, markerJson1 } from "./marker-json.ts";
import { nativeTools, nativeTools1 } from "./native-tools.ts";
import type { ProtocolAdapter } from "./protocol-adapter.ts";

const ADAPTERS: ReadonlyMap<string, ProtocolAdapter> = new Map(
  [nativeTools1, markerJson1, nativeTools, markerJson, grammarJson].map((adapter) => [adapter.version, adapter]),
);

export const ADAPTER_VERSIONS: readonly string[] = [...ADAPTERS.keys()];

export function adapterFor(version: string): ProtocolAdapter | null {
  return ADAPTERS.get(version) ?? null;
}

/** Whether the adapter reads answers that are one JSON document, so that a stream's text is within it. */
export function readsDocuments(version: string): boolean {
  return version.startsWith("grammar-json@");
}
