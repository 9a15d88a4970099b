import { type RefObject, useRef } from "react";

/** A row that has to be drawn first comes within so many frames. */
const MAX_FRAMES = 20;

/**
 * Moves the focus along rows that carry `data-at`, by their place in the list: those out of sight are scrolled to, which brings
 * them into the document.
 */
export function useRowFocus(list: RefObject<HTMLElement | null>, scrollTo: (at: number) => void) {
  const coming = useRef<number | null>(null);
  const focusWhenThere = (at: number, frames: number): void => {
    if (coming.current !== at) return;
    const row = list.current?.querySelector<HTMLElement>(`[data-at="${at}"]`);
    if (row != null) {
      coming.current = null;
      row.focus();
    } else if (frames > 0) {
      requestAnimationFrame(() => focusWhenThere(at, frames - 1));
    }
  };
  return {
    /** Null: no row has it. */
    current(): number | null {
      if (coming.current !== null) return coming.current;
      const { activeElement } = document;
      const at = activeElement instanceof HTMLElement ? activeElement.dataset["at"] : undefined;
      return at === undefined ? null : Number(at);
    },
    focus(at: number): void {
      coming.current = at;
      scrollTo(at);
      focusWhenThere(at, MAX_FRAMES);
    },
  };
}
