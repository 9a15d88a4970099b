import { Menu } from "lucide-react";
import type { ReactNode } from "react";
import { Link, useLocation } from "wouter";
import { hrefOf, PAGES } from "../pages/all-pages.ts";
import type { Page } from "../pages/page.ts";
import { Seal } from "../parts/seal.tsx";
import styles from "./shell.module.css";

/** Marks beside pages: how many things wait there. */
export type Counts = Readonly<Record<string, number | undefined>>;

const SECTIONS = [
  { section: "work", heading: null },
  { section: "rules", heading: "Rules" },
] as const;

export function Navigation({ counts }: { counts: Counts }) {
  return (
    <nav className={styles["nav"]} aria-label="Pages">
      <Link href="/" className={styles["mark"]}>
        <Seal /> Surety
      </Link>
      {SECTIONS.map(({ section, heading }) => {
        const pages = PAGES.filter((page) => page.section === section);
        if (pages.length === 0) return null;
        return (
          <div key={section}>
            {heading !== null && <h2 className={styles["heading"]}>{heading}</h2>}
            <ul>
              {pages.map((page) => (
                <li key={page.path}>
                  <PageLink page={page} count={counts[page.title]} size={16} className={styles["link"]}>
                    {page.title}
                  </PageLink>
                </li>
              ))}
            </ul>
          </div>
        );
      })}
    </nav>
  );
}

/** On a phone: the pages people use most; the palette has the rest. */
export function BottomBar({ counts, onMore }: { counts: Counts; onMore: () => void }) {
  return (
    <nav className={styles["phone"]} aria-label="Pages, short">
      {PAGES.filter(({ isOnPhone }) => isOnPhone === true).map((page) => (
        <PageLink key={page.path} page={page} count={counts[page.title]} size={20}>
          {page.title}
        </PageLink>
      ))}
      <button type="button" onClick={onMore}>
        <Menu size={20} aria-hidden="true" />
        More
      </button>
    </nav>
  );
}

interface PageLinkProps {
  readonly page: Page;
  readonly count: number | undefined;
  readonly size: number;
  readonly className?: string | undefined;
  readonly children: ReactNode;
}

function PageLink({ page, count = 0, size, className, children }: PageLinkProps) {
  const [location] = useLocation();
  const { icon: Icon } = page;
  return (
    <Link href={hrefOf(page)} className={className} aria-current={isOn(page, location) ? "page" : undefined}>
      <Icon size={size} aria-hidden="true" />
      {children}
      {count > 0 && (
        <span className={styles["count"]}>
          {count}
          <span className="out-of-sight"> waiting</span>
        </span>
      )}
    </Link>
  );
}

function isOn(page: Page, location: string): boolean {
  const href = hrefOf(page);
  return location === href || (href !== "/" && location.startsWith(`${href}/`));
}
