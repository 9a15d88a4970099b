/**
 * All runs, newest first. The gateway has them by pages; each row reads the page it is on, and only rows in sight are there.
 */
import { X } from "lucide-react";
import { memo, type RefObject, useEffect, useEffectEvent, useMemo, useRef, useState } from "react";
import { useLocation } from "wouter";
import { useRecord } from "../../data/records.ts";
import { Button } from "../../parts/button.tsx";
import { EmptyState } from "../../parts/empty-state.tsx";
import { ErrorNote } from "../../parts/error-note.tsx";
import { Input, Select } from "../../parts/field.tsx";
import { Mono } from "../../parts/mono.tsx";
import { Skeleton } from "../../parts/skeleton.tsx";
import { useRowFocus } from "../../parts/use-row-focus.ts";
import { VirtualList, type VirtualListHandle } from "../../parts/virtual-list.tsx";
import { useKeys } from "../../shell/keyboard.ts";
import { useTitle } from "../../shell/page-title.ts";
import { type Filters, useFilters } from "./filters.ts";
import { RunLine } from "./run-line.tsx";
import styles from "./runs.module.css";
import { STATUS_WORDS } from "./status-tag.tsx";

const PAGE = 50;
const ROW_PX = 44;
/** So that a word is searched, not each of its letters. */
const TYPING_MS = 250;

export function RunsPage() {
  useTitle("Runs");
  const [filters, change] = useFilters();
  const first = useRecord("runs.list", { ...filters, limit: PAGE, offset: 0 } as never);
  const total = first.value?.total ?? 0;
  const items = useMemo(() => Array.from({ length: total }, (_, index) => index), [total]);
  const list = useRef<VirtualListHandle>(null);
  const frame = useRef<HTMLDivElement>(null);
  const search = useRef<HTMLInputElement>(null);
  const isFiltered = Object.keys(filters).length > 0;
  const row = useRowFocus(frame, (at) => list.current?.scrollTo(at));
  const move = (by: 1 | -1): void => {
    if (total > 0) row.focus(Math.min(total - 1, Math.max(0, (row.current() ?? -by) + by)));
  };
  useKeys([
    { keys: "j", does: "next run", run: () => move(1) },
    { keys: "k", does: "run before", run: () => move(-1) },
    { keys: "/", does: "search runs", run: () => search.current?.focus() },
  ]);
  return (
    <div className={styles["page"]} ref={frame}>
      <header className={styles["head"]}>
        <h1>Runs</h1>
        <span className={styles["total"]} role="status">
          {first.value === undefined ? "" : totalWords(total, isFiltered)}
        </span>
      </header>
      <FilterBar filters={filters} change={change} search={search} />
      {first.error !== null && <ErrorNote error={first.error} />}
      {first.value === undefined && first.error === null && <Skeleton rows={6} />}
      {first.value !== undefined && total === 0 && <NoRuns isFiltered={isFiltered} />}
      {total > 0 && (
        <VirtualList<number>
          key={JSON.stringify(filters)}
          ref={list}
          label="Runs, newest first"
          items={items}
          keyOf={String}
          estimate={ROW_PX}
          className={styles["list"]}
          draw={(at) => <RowAt at={at} filters={filters} />}
        />
      )}
    </div>
  );
}

function totalWords(total: number, isFiltered: boolean): string {
  const count = `${total.toLocaleString("en")} ${total === 1 ? "run" : "runs"}`;
  return isFiltered ? `${count} that ${total === 1 ? "fits" : "fit"}` : count;
}

interface FilterBarProps {
  readonly filters: Filters;
  readonly change: ReturnType<typeof useFilters>[1];
  readonly search: RefObject<HTMLInputElement | null>;
}

const STATUSES = [["", "any status"], ...Object.entries(STATUS_WORDS)] as readonly (readonly [string, string])[];

function FilterBar({ filters, change, search }: FilterBarProps) {
  const { session, status = "", text = "", agent = "" } = filters;
  return (
    <search className={styles["filters"]}>
      <TypedFilter
        label="Search messages and ids"
        type="search"
        value={text}
        onChange={(value, options) => change({ text: value }, options)}
        input={search}
      />
      <Select aria-label="Status" value={status} options={STATUSES} onChange={(value) => change({ status: value })} />
      <TypedFilter label="Any agent" value={agent} onChange={(value, options) => change({ agent: value }, options)} />
      {session !== undefined && (
        <Button onClick={() => change({ session: "" })}>
          session <Mono>{session.slice(-6)}</Mono>
          <X size={14} aria-hidden="true" />
          <span className="out-of-sight">, take this filter away</span>
        </Button>
      )}
    </search>
  );
}

interface TypedFilterProps {
  readonly label: string;
  readonly type?: "search";
  readonly value: string;
  readonly onChange: (value: string, options: { readonly replace: boolean }) => void;
  readonly input?: RefObject<HTMLInputElement | null>;
}

/** The address follows when the typing rests; one word makes one step back. */
function TypedFilter({ label, type, value, onChange, input }: TypedFilterProps) {
  const [typed, setTyped] = useState(value);
  const [known, setKnown] = useState(value);
  // The address changed by going back or by a link.
  if (known !== value) {
    setKnown(value);
    if (typed.trim() !== value) setTyped(value);
  }
  const tell = useEffectEvent(() => onChange(typed.trim(), { replace: value !== "" && typed.trim() !== "" }));
  useEffect(() => {
    if (typed.trim() === value) return;
    const timer = setTimeout(tell, TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed, value]);
  return (
    <Input
      {...(input === undefined ? {} : { ref: input })}
      type={type}
      aria-label={label}
      placeholder={label}
      value={typed}
      onChange={(event) => setTyped(event.target.value)}
    />
  );
}

function NoRuns({ isFiltered }: { isFiltered: boolean }) {
  const [, navigate] = useLocation();
  return isFiltered ? (
    <EmptyState sentence="No run fits these filters.">
      <Button onClick={() => navigate("/runs")}>Show all runs</Button>
    </EmptyState>
  ) : (
    <EmptyState sentence="Nothing has run yet. Every message makes a run, and each is listed here.">
      <Button onClick={() => navigate("/chat")}>Ask something</Button>
    </EmptyState>
  );
}

/** Of the page of the list that it is on. */
const RowAt = memo(({ at, filters }: { at: number; filters: Filters }) => {
  const offset = at - (at % PAGE);
  const { value } = useRecord("runs.list", { ...filters, limit: PAGE, offset } as never);
  const run = value?.runs[at - offset];
  return run === undefined ? <div className={styles["row"]} /> : <RunLine run={run} at={at} />;
});
