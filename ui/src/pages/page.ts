/** A page of the control UI. Each is a folder here with a `page.ts` that exports `page`; nothing else lists them. */
import type { LucideIcon } from "lucide-react";
import type { ComponentType } from "react";

export interface PageProps {
  /** The parts of the address that `path` names. */
  readonly params: Readonly<Record<string, string | undefined>>;
}

export interface Page {
  readonly title: string;
  /** Begins with the folder's name: `/runs/:id?`. The page `now` is `/`. */
  readonly path: `/${string}`;
  readonly icon: LucideIcon;
  /** Where it stands in the navigation; pages of `rules` come below their heading. */
  readonly section: "work" | "rules";
  /** 10, 20, 30 … in the order of the brief's table. */
  readonly order: number;
  /** After `g`. */
  readonly key?: string;
  /** In the bottom bar of a phone; others are behind More. */
  readonly isOnPhone?: boolean;
  readonly load: () => Promise<ComponentType<PageProps>>;
}
