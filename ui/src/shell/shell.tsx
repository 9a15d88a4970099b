/** What stands around every page: navigation, the line at the top, commands, keys, and what is said aloud. */
import { Search } from "lucide-react";
import { type ComponentType, lazy, Suspense, useEffect, useRef, useState } from "react";
import { Redirect, Route, Switch, useLocation } from "wouter";
import { useRecord } from "../data/records.ts";
import { signIn } from "../data/sign-in.ts";
import { useSignal } from "../data/signal.ts";
import { theme } from "../data/theme.ts";
import { hrefOf, PAGES } from "../pages/all-pages.ts";
import { PENDING, useHeld } from "../pages/capabilities/asked-for.ts";
import type { PageProps } from "../pages/page.ts";
import { Announcer } from "../parts/announcer.tsx";
import { Button } from "../parts/button.tsx";
import { type Command, CommandPalette } from "../parts/command-palette.tsx";
import { EmptyState } from "../parts/empty-state.tsx";
import { Skeleton } from "../parts/skeleton.tsx";
import { useApprovalAlerts } from "./approval-alerts.ts";
import { ConnectionState } from "./connection-state.tsx";
import { KeySheet } from "./key-sheet.tsx";
import { useKeys } from "./keyboard.ts";
import { BottomBar, type Counts, Navigation } from "./navigation.tsx";
import { PageBoundary } from "./page-boundary.tsx";
import { pageCommands, pageTitle } from "./page-title.ts";
import styles from "./shell.module.css";
import { SignInPage } from "./sign-in-page.tsx";
import { SpendMeter } from "./spend-meter.tsx";

const FIRST = PAGES[0] === undefined ? "/chat" : hrefOf(PAGES[0]);
const ROUTES = PAGES.map((page) => ({
  page,
  View: lazy(async (): Promise<{ default: ComponentType<PageProps> }> => ({ default: await page.load() })),
}));

/** `loginCode`: the page was opened by a login link; empty, at its address without a code. */
export function Shell({ loginCode }: { readonly loginCode: string | null }) {
  const isOut = useSignal(signIn) === "out" || loginCode !== null;
  return isOut ? <SignInPage code={loginCode ?? ""} /> : <SignedIn />;
}

function SignedIn() {
  const [opened, setOpened] = useState<"palette" | "keys" | null>(null);
  const [location, navigate] = useLocation();
  const counts = useCounts();
  const main = useMainFocus(location);
  const commands = useSignal(pageCommands);
  const go = PAGES.map((page) => ({ page, run: () => navigate(hrefOf(page)) }));
  useTitle(counts);
  useApprovalAlerts(counts["Approvals"]);
  useKeys([
    { keys: "Ctrl k", does: "commands", run: () => setOpened("palette") },
    { keys: "?", does: "these keys", run: () => setOpened("keys") },
    ...go.flatMap(({ page: { key, title }, run }) =>
      key === undefined ? [] : [{ keys: `g ${key}`, does: title, run }],
    ),
  ]);
  const offered: readonly Command[] = [
    ...commands,
    ...go.map(({ page: { title, key }, run }) => ({
      name: `Go to ${title.toLowerCase()}`,
      ...(key === undefined ? {} : { hint: `g ${key}` }),
      run,
    })),
    { name: "Theme: as the system", run: () => theme.set("system") },
    { name: "Theme: light", run: () => theme.set("light") },
    { name: "Theme: dark", run: () => theme.set("dark") },
    { name: "Show the keys", hint: "?", run: () => setOpened("keys") },
  ];
  return (
    <div className={styles["shell"]}>
      <a href="#main" className={`${styles["skip"]} out-of-sight`}>
        Skip to the page
      </a>
      <Navigation counts={counts} />
      <header className={styles["bar"]}>
        <ConnectionState />
        <SpendMeter />
        <Button className={styles["palette"]} onClick={() => setOpened("palette")}>
          <Search size={16} aria-hidden="true" />
          <span className={styles["wide"]}>
            Commands <kbd>Ctrl K</kbd>
          </span>
        </Button>
      </header>
      <main id="main" ref={main} className={styles["main"]} tabIndex={-1}>
        <PageBoundary key={location.split("/")[1]}>
          <Suspense fallback={<Skeleton rows={4} />}>
            <Switch>
              {ROUTES.map(({ page, View }) => (
                <Route key={page.path} path={page.path}>
                  {(params) => <View params={params as PageProps["params"]} />}
                </Route>
              ))}
              {FIRST !== "/" && (
                <Route path="/">
                  <Redirect to={FIRST} replace />
                </Route>
              )}
              <Route>
                <NoSuchPage />
              </Route>
            </Switch>
          </Suspense>
        </PageBoundary>
      </main>
      <BottomBar counts={counts} onMore={() => setOpened("palette")} />
      <Announcer />
      {opened === "palette" && <CommandPalette commands={offered} onClose={() => setOpened(null)} />}
      {opened === "keys" && <KeySheet onClose={() => setOpened(null)} />}
    </div>
  );
}

function NoSuchPage() {
  const [, navigate] = useLocation();
  return (
    <div className={styles["none"]}>
      <h1>There is no such page</h1>
      <EmptyState sentence="The address may be of another version, or was cut off.">
        <Button onClick={() => navigate(FIRST)}>Go to the first page</Button>
      </EmptyState>
    </div>
  );
}

function useCounts(): Counts {
  const { value } = useRecord("approvals.list", {});
  const { held } = useHeld(PENDING);
  return { Approvals: value?.approvals.length, Capabilities: held?.length };
}

/** `(2) Chat – Surety`: what waits is seen from another tab too. */
function useTitle(counts: Counts): void {
  const waiting = Object.values(counts).reduce<number>((sum, count = 0) => sum + count, 0);
  const title = useSignal(pageTitle);
  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ""}${title === "" ? "" : `${title} – `}Surety`;
  }, [title, waiting]);
}

/** Going to another page moves the focus to it, so that reading and tabbing go on there. */
function useMainFocus(location: string) {
  const main = useRef<HTMLElement>(null);
  const before = useRef(location);
  useEffect(() => {
    const hasMoved = before.current.split("/")[1] !== location.split("/")[1];
    before.current = location;
    if (hasMoved) main.current?.focus({ preventScroll: true });
  }, [location]);
  return main;
}
