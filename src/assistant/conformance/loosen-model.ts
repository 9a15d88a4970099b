/** The model with its requests changed as the current case asks (C2 of `conformance-case.ts`). */
import type { ConfiguredModel } from "../../runtime/ports/model-backend.ts";
import type { ConformanceCase } from "./conformance-case.ts";

export function loosenModel(model: ConfiguredModel, current: () => ConformanceCase | null): ConfiguredModel {
  const { backend } = model;
  return {
    ...model,
    backend: {
      ...backend,
      complete: (request, watch) => backend.complete(current()?.loosen?.(request) ?? request, watch),
    },
  };
}
