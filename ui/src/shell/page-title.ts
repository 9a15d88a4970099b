import { useEffect, useEffectEvent } from "react";
import { createSignal } from "../data/signal.ts";
import type { Command } from "../parts/command-palette.tsx";

export const pageTitle = createSignal("");
export const pageCommands = createSignal<readonly Command[]>([]);

/** Each page says its name for the browser's title. Text of others never comes in here. */
export function useTitle(title: string): void {
  useEffect(() => {
    pageTitle.set(title);
    return () => pageTitle.set("");
  }, [title]);
}

/** Commands of the page that is open, first in the palette. */
export function useCommands(commands: readonly Command[]): void {
  const run = useEffectEvent((name: string) => commands.find((command) => command.name === name)?.run());
  const described = JSON.stringify(
    commands.map(({ name, hint }) => ({ name, ...(hint === undefined ? {} : { hint }) })),
  );
  useEffect(() => {
    const rows = JSON.parse(described) as readonly Omit<Command, "run">[];
    pageCommands.set(rows.map((row) => ({ ...row, run: () => run(row.name) })));
    return () => pageCommands.set([]);
  }, [described]);
}
