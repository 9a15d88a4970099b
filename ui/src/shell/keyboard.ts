/**
 * The keyboard. Single keys rest while someone writes and can be switched off; chords with Ctrl or Shift always work. Escape
 * closes and never decides.
 */
import { useEffect, useEffectEvent } from "react";
import { kept } from "../data/kept.ts";
import { createSignal } from "../data/signal.ts";

export const singleKeys = kept<boolean>("single-keys", true);

export interface KeyBinding {
  /** `?`, `j`, `g n`, `Ctrl k`, `Shift A`. */
  readonly keys: string;
  /** For the sheet that `?` opens. */
  readonly does: string;
  run(event: KeyboardEvent): void;
}

interface Bound extends KeyBinding {
  readonly isActive: () => boolean;
}

const bound = createSignal<readonly Bound[]>([]);
const SEQUENCE_MS = 1_500;
let prefix = "";
let prefixTimer = 0;

export const bindings = bound;

/** Active while the component is mounted. The newest binding of a key wins. */
export function useKeys(keys: readonly KeyBinding[], isActive: () => boolean = () => true): void {
  const run = useEffectEvent((name: string, event: KeyboardEvent) => {
    keys.find((binding) => binding.keys === name)?.run(event);
  });
  const active = useEffectEvent(isActive);
  const names = keys.map(({ keys: name, does }) => `${name}\t${does}`).join("\n");
  useEffect(() => {
    const own = names.split("\n").map((line): Bound => {
      const [name = "", does = ""] = line.split("\t");
      return { keys: name, does, run: (event) => run(name, event), isActive: () => active() };
    });
    bound.set([...own, ...bound.get()]);
    return () => bound.set(bound.get().filter((binding) => !own.includes(binding)));
  }, [names]);
}

export function listenToKeys(): void {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || document.querySelector("dialog[open]") !== null) return;
    const name = nameOf(event);
    if (name === null) return;
    const isChord = name.startsWith("Ctrl ");
    if (!isChord && (!singleKeys.get() || isWriting(event.target))) return;
    const find = (keys: string): Bound | undefined =>
      bound.get().find((binding) => binding.keys === keys && binding.isActive());
    const sequence = prefix === "" ? undefined : find(`${prefix} ${name}`);
    const binding = sequence ?? find(name);
    prefix = "";
    clearTimeout(prefixTimer);
    if (binding !== undefined) {
      event.preventDefault();
      binding.run(event);
    } else if (bound.get().some(({ keys }) => keys.startsWith(`${name} `))) {
      prefix = name;
      prefixTimer = setTimeout(() => {
        prefix = "";
      }, SEQUENCE_MS) as unknown as number;
    }
  });
}

function nameOf({ key, ctrlKey, metaKey, altKey, shiftKey }: KeyboardEvent): string | null {
  if (altKey || key === "Control" || key === "Shift" || key === "Meta") return null;
  if (ctrlKey || metaKey) return `Ctrl ${key.length === 1 ? key.toLowerCase() : key}`;
  return shiftKey && /^\p{L}$/u.test(key) ? `Shift ${key.toUpperCase()}` : key;
}

function isWriting(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.matches("input:not([type=checkbox], [type=radio]), textarea, select"))
  );
}
