/** Every entry of the run, by turns, of which only those in sight are in the document. Enter opens one. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { ChevronRight } from "lucide-react";
import { type KeyboardEvent, memo, useEffect, useEffectEvent, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useSearch } from "wouter";
import { classes } from "../../parts/classes.ts";
import { HostileText } from "../../parts/hostile-text.tsx";
import { durationWords } from "../../parts/time.tsx";
import { useRowFocus } from "../../parts/use-row-focus.ts";
import { useKeys } from "../../shell/keyboard.ts";
import type { EntryRow } from "../../verify/entry-row.ts";
import type { VerifiedRun } from "../../verify/use-verified-run.ts";
import { type Bar, barsOf } from "./axis.ts";
import { ChildRun } from "./child-run.tsx";
import { EntryDetails } from "./entry-details.tsx";
import styles from "./timeline.module.css";

type Item =
  | { readonly kind: "turn"; readonly turn: number }
  | { readonly kind: "entry"; readonly row: EntryRow; readonly bar: Bar };

const HEADING_PX = 36;
const ROW_PX = 33;

export function Timeline({ verified }: { verified: VerifiedRun }) {
  const { rows, checked, key } = verified;
  const items = useMemo(() => itemsOf(rows), [rows]);
  const [opened, setOpened] = useState<ReadonlySet<number>>(new Set());
  const list = useRef<HTMLDivElement>(null);
  const [margin, setMargin] = useState(0);
  // What stands above the list may grow or shrink.
  useLayoutEffect(() => {
    const { current } = list;
    const scroller = document.querySelector("main");
    if (current === null || scroller === null) return;
    const measured = current.getBoundingClientRect().top - scroller.getBoundingClientRect().top + scroller.scrollTop;
    if (Math.abs(measured - margin) > 1) setMargin(measured);
  });
  const drawn = useVirtualizer({
    count: items.length,
    getScrollElement: () => document.querySelector("main"),
    estimateSize: (index) => (items[index]?.kind === "turn" ? HEADING_PX : ROW_PX),
    getItemKey: (index) => keyOf(items[index], index),
    scrollMargin: margin,
    overscan: 8,
    useAnimationFrameWithResizeObserver: false,
  });
  useNamedEntry(items, (seq, at) => {
    setOpened((before) => new Set([...before, seq]));
    drawn.scrollToIndex(at, { align: "center" });
  });
  const line = useRowFocus(list, (at) => drawn.scrollToIndex(at, { align: "auto" }));
  const focusEntry = (by: 1 | -1): void => {
    const from = line.current() ?? (by === 1 ? -1 : items.length);
    for (let at = from + by; at >= 0 && at < items.length; at += by) {
      if (items[at]?.kind !== "entry") continue;
      line.focus(at);
      return;
    }
  };
  useKeys([
    { keys: "j", does: "next entry", run: () => focusEntry(1) },
    { keys: "k", does: "entry before", run: () => focusEntry(-1) },
  ]);
  if (rows.length === 0) return null;
  const toggle = (seq: number): void => {
    const next = new Set(opened);
    if (!next.delete(seq)) next.add(seq);
    setOpened(next);
  };
  return (
    <section className={styles["timeline"]} aria-label="Entries">
      <div
        ref={list}
        role="list"
        className={styles["rows"]}
        style={{ height: drawn.getTotalSize() }}
        onKeyDown={(event) => event.key === "Escape" && closeFocused(event, opened, setOpened)}
      >
        {drawn.getVirtualItems().map(({ index, key: itemKey, start }) => {
          const item = items[index];
          if (item === undefined) return null;
          const isOpen = item.kind === "entry" && opened.has(item.row.seq);
          return (
            <div
              key={itemKey}
              ref={drawn.measureElement}
              data-index={index}
              role="listitem"
              aria-setsize={items.length}
              aria-posinset={index + 1}
              className={styles["place"]}
              style={{ transform: `translateY(${start - margin}px)` }}
            >
              {item.kind === "turn" ? (
                <h2 className={styles["heading"]}>{item.turn === 0 ? "Before the first turn" : `Turn ${item.turn}`}</h2>
              ) : (
                <>
                  <EntryLine
                    row={item.row}
                    bar={item.bar}
                    index={index}
                    isOpen={isOpen}
                    isBad={checked?.bad?.entry === item.row.seq}
                    onToggle={toggle}
                  />
                  {isOpen && <EntryDetails verification={key} seq={item.row.seq} />}
                  {item.row.child !== null && <ChildRun id={item.row.child} />}
                </>
              )}
            </div>
          );
        })}
      </div>
    </section>
  );
}

/** The entry that the address names (`?entry=7`) is shown opened, once it is there. */
function useNamedEntry(items: readonly Item[], show: (seq: number, at: number) => void): void {
  const named = Number(new URLSearchParams(useSearch()).get("entry"));
  const at = items.findIndex((item) => item.kind === "entry" && item.row.seq === named);
  const showOnce = useEffectEvent(() => show(named, at));
  const isThere = at !== -1;
  useEffect(() => {
    if (named > 0 && isThere) showOnce();
  }, [named, isThere]);
}

function closeFocused(
  event: KeyboardEvent<HTMLElement>,
  opened: ReadonlySet<number>,
  setOpened: (opened: ReadonlySet<number>) => void,
): void {
  const place = (event.target as HTMLElement).closest("[data-index]");
  const button = place?.querySelector<HTMLElement>("[data-seq]");
  const seq = Number(button?.dataset["seq"]);
  if (!opened.has(seq)) return;
  setOpened(new Set([...opened].filter((each) => each !== seq)));
  button?.focus();
}

interface EntryLineProps {
  readonly row: EntryRow;
  readonly bar: Bar;
  readonly index: number;
  readonly isOpen: boolean;
  readonly isBad: boolean;
  readonly onToggle: (seq: number) => void;
}

const EntryLine = memo(({ row, bar, index, isOpen, isBad, onToggle }: EntryLineProps) => {
  const { seq, kind, what, note, tone, startMs, endMs, parkedMs } = row;
  return (
    <div className={styles["line"]}>
      <button
        type="button"
        data-seq={seq}
        data-at={index}
        aria-expanded={isOpen}
        className={classes(styles["row"], isBad && styles["bad"])}
        onClick={() => onToggle(seq)}
      >
        <ChevronRight className={styles["arrow"]} size={14} aria-hidden="true" />
        <span className={styles["seq"]}>{seq}</span>
        <span className={styles["kind"]}>{kind === "run.created" ? "PRECHECK" : kind}</span>
        <span className={styles["what"]}>
          {isBad && <span className={styles["flag"]}>first bad entry </span>}
          <span className={classes(styles["said"], styles[tone])}>
            <HostileText text={what} />
          </span>
          {note !== "" && (
            <span className={styles["note"]}>
              <HostileText text={note} />
            </span>
          )}
        </span>
        <span className={styles["axis"]} aria-hidden="true">
          {bar.gap !== null && (
            <span className={styles["gap"]} style={{ left: `${bar.gap.left}%`, width: `${bar.gap.width}%` }} />
          )}
          <span className={styles["bar"]} style={{ left: `${bar.left}%`, width: `${bar.width}%` }} />
        </span>
        <span className={styles["took"]}>
          {durationWords(endMs - startMs)}
          {parkedMs > 0 && <span className="out-of-sight"> after a wait of {durationWords(parkedMs)}</span>}
        </span>
      </button>
    </div>
  );
});

function itemsOf(rows: readonly EntryRow[]): readonly Item[] {
  const bars = barsOf(rows);
  return rows.flatMap((row, at): readonly Item[] => {
    const bar = bars[at] ?? { left: 0, width: 0, gap: null };
    const entry: Item = { kind: "entry", row, bar };
    return row.turn === rows[at - 1]?.turn ? [entry] : [{ kind: "turn", turn: row.turn }, entry];
  });
}

function keyOf(item: Item | undefined, index: number): string {
  if (item === undefined) return String(index);
  return item.kind === "turn" ? `turn ${item.turn} ${index}` : `entry ${item.row.seq}`;
}
