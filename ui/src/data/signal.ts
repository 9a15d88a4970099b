/** A value that components follow: the smallest thing `useSyncExternalStore` can read. */
import { useSyncExternalStore } from "react";

export interface Signal<Value> {
  get(): Value;
  set(value: Value): void;
  subscribe(listener: () => void): () => void;
}

export function createSignal<Value>(first: Value): Signal<Value> {
  const listeners = new Set<() => void>();
  let current = first;
  return {
    get: () => current,
    set(value) {
      if (Object.is(value, current)) return;
      current = value;
      for (const listener of [...listeners]) listener();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

export function useSignal<Value>({ get, subscribe }: Signal<Value>): Value {
  return useSyncExternalStore(subscribe, get);
}
