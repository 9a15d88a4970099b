import { useEffect, useState } from "react";

/** `13:04`, with the day if it is another one. */
export function Time({ at }: { at: number | string }) {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return null;
  return (
    <time dateTime={date.toISOString()} title={date.toLocaleString()}>
      {clockWords(date, new Date())}
    </time>
  );
}

function clockWords(date: Date, now: Date): string {
  const clock = date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false });
  if (date.toDateString() === now.toDateString()) return clock;
  const isSameYear = date.getFullYear() === now.getFullYear();
  const day = date.toLocaleDateString([], {
    day: "numeric",
    month: "short",
    ...(isSameYear ? {} : { year: "numeric" }),
  });
  return `${day}, ${clock}`;
}

/** `9:41` until then, each second; null when it is past. */
export function useCountdown(until: number | string | null): string | null {
  const untilMs = until === null ? Number.NaN : new Date(until).getTime();
  const [now, setNow] = useState(Date.now);
  const isOver = !(untilMs > now);
  useEffect(() => {
    if (isOver) return;
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [isOver]);
  return isOver ? null : countdownWords(untilMs - now);
}

function countdownWords(leftMs: number): string {
  const seconds = Math.ceil(leftMs / 1_000);
  if (seconds >= 86_400) return `${Math.floor(seconds / 86_400)} days`;
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60];
  const padded = (value: number): string => String(value).padStart(2, "0");
  return hours > 0 ? `${hours}:${padded(minutes)}:${padded(seconds % 60)}` : `${minutes}:${padded(seconds % 60)}`;
}

/** `212 ms`, `2.4 s`, `3 min 20 s`, `10 min`. */
export function durationWords(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return both(`${minutes} min`, seconds % 60, "s");
  return both(`${Math.floor(minutes / 60)} h`, minutes % 60, "min");
}

function both(more: string, rest: number, unit: string): string {
  return rest === 0 ? more : `${more} ${rest} ${unit}`;
}
