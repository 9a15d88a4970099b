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

/**
 * The changes of the adapters' formats (M-P5.4). A run keeps the version that its contract was sealed with, also across an
 * upgrade; a new contract gets the newest. Each version has its answers in test/fixtures/adapter-formats.json, which are
 * never edited. Rows are only added.
 */
export const ADAPTER_CHANGES = [
  {
    from: "native-tools@1",
    to: "native-tools@2",
    reason: "Inline reasoning was read, and shown, as a part of the answer.",
  },
  {
    from: "marker-json@1",
    to: "marker-json@2",
    reason: "Inline reasoning was read, and shown, as a part of the answer.",
  },
] as const;

/** The newest version of the same format. */
export function newestAdapter(version: string): string {
  const change = ADAPTER_CHANGES.find(({ from }) => from === version);
  return change === undefined ? version : newestAdapter(change.to);
}

/** Whether the adapter reads answers that are one JSON document, so that a stream's text is within it. */
export function readsDocuments(version: string): boolean {
  return version.startsWith("grammar-json@");
}
