/** A model whose requests go out as the case at hand wants them (C2 of `conformance-case.ts`); nothing else is changed. */
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
