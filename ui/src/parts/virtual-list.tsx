import { useVirtualizer, type Virtualizer } from "@tanstack/react-virtual";
import { type ReactNode, type Ref, useEffect, useEffectEvent, useImperativeHandle, useRef } from "react";
import { classes } from "./classes.ts";
import styles from "./virtual-list.module.css";

export interface VirtualListHandle {
  scrollTo(index: number): void;
  scrollToEnd(): void;
  isAtEnd(): boolean;
}

interface VirtualListProps<Item> {
  readonly label: string;
  readonly items: readonly Item[];
  readonly keyOf: (item: Item) => string;
  readonly draw: (item: Item, index: number) => ReactNode;
  /** Of a row that was not drawn yet, in pixels. */
  readonly estimate: number;
  /** `end`: a conversation, which stays at its end while it grows, and where it is while earlier rows come in. */
  readonly anchor?: "start" | "end";
  readonly role?: "list" | "log" | "listbox";
  readonly rowRole?: "listitem" | "article" | "option";
  /** More than there are rows here, where the server has them. */
  readonly total?: number;
  /** The row before the first one comes into sight. */
  readonly onStart?: () => void;
  /** The row behind the last one does. */
  readonly onEnd?: () => void;
  readonly onScroll?: (isAtEnd: boolean) => void;
  readonly className?: string | undefined;
  readonly rowClassName?: string | undefined;
  readonly ref?: Ref<VirtualListHandle>;
}

const NEAR_END_PX = 48;

/** Rows of any height, of which only those in sight are in the document. Each says which of how many it is. */
export function VirtualList<Item>(props: VirtualListProps<Item>) {
  const { label, items, keyOf, draw, estimate, anchor = "start", role = "list", rowRole = "listitem", ref } = props;
  const { total = items.length, className, rowClassName } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const list = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => estimate,
    getItemKey: (index) => {
      const item = items[index];
      return item === undefined ? index : keyOf(item);
    },
    overscan: 6,
    anchorTo: anchor,
    followOnAppend: anchor === "end",
    scrollEndThreshold: NEAR_END_PX,
    useAnimationFrameWithResizeObserver: false,
  });
  useEdges(list, props);
  useStartAtEnd(list, anchor, items.length);
  useImperativeHandle(ref, () => ({
    scrollTo: (index) => list.scrollToIndex(index, { align: "auto" }),
    scrollToEnd: () => list.scrollToEnd(),
    isAtEnd: () => list.isAtEnd(NEAR_END_PX),
  }));
  return (
    <div
      ref={scroller}
      className={classes(styles["scroller"], className)}
      role={role}
      aria-label={label}
      tabIndex={0}
      // From the element: the virtualizer may hear of the scroll after this.
      onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) =>
        props.onScroll?.(scrollHeight - scrollTop - clientHeight <= NEAR_END_PX)
      }
    >
      <div className={styles["content"]} role="presentation" style={{ height: list.getTotalSize() }}>
        {list.getVirtualItems().map(({ index, key, start }) => {
          const item = items[index];
          if (item === undefined) return null;
          return (
            <div
              key={key}
              ref={list.measureElement}
              data-index={index}
              className={classes(styles["row"], rowClassName)}
              role={rowRole}
              aria-setsize={total}
              aria-posinset={index + 1}
              style={{ transform: `translateY(${start}px)` }}
            >
              {draw(item, index)}
            </div>
          );
        })}
      </div>
    </div>
  );
}

function useEdges<Item>(list: Virtualizer<HTMLDivElement, Element>, { items, onStart, onEnd }: VirtualListProps<Item>) {
  const shown = list.getVirtualItems();
  const [first, last] = [shown[0]?.index, shown.at(-1)?.index];
  const start = useEffectEvent(() => onStart?.());
  const end = useEffectEvent(() => onEnd?.());
  const isEmpty = items.length === 0;
  const isLast = last === items.length - 1;
  useEffect(() => {
    if (!isEmpty && first === 0) start();
  }, [first, isEmpty]);
  useEffect(() => {
    if (!isEmpty && isLast) end();
  }, [isLast, isEmpty]);
}

/** A conversation opens at its end. */
function useStartAtEnd(list: Virtualizer<HTMLDivElement, Element>, anchor: string, count: number): void {
  const hasBegun = useRef(false);
  const begin = useEffectEvent(() => list.scrollToEnd());
  useEffect(() => {
    if (anchor !== "end" || hasBegun.current || count === 0) return;
    hasBegun.current = true;
    begin();
  }, [anchor, count]);
}
