/**
 * Whether this browser may read: any answer 401 says no. There is no token in the page; the cookie is out of its reach.
 *
 * A login link is this page at /login with a code as its fragment, which no browser sends anywhere. The code leaves the
 * address bar at once and is exchanged for the cookie.
 */
import { createSignal } from "./signal.ts";

export const signIn = createSignal<"unknown" | "in" | "out">("unknown");

const LOGIN = "/login";
const CODE = /^[A-Za-z0-9_-]{16,}$/;

export function signedOut(): void {
  signIn.set("out");
}

export function signedIn(): void {
  signIn.set("in");
}

/** The code that this page was opened with; null elsewhere. Empty: it was opened without one. */
export function takeCode(): string | null {
  if (location.pathname !== LOGIN) return null;
  const code = location.hash.slice(1);
  history.replaceState(null, "", LOGIN);
  return code;
}

/** What was pasted is a link or its code; null if it is neither. */
export function codeIn(pasted: string): string | null {
  const code = pasted.trim().split("#").at(-1) ?? "";
  return CODE.test(code) ? code : null;
}
