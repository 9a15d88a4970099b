/** Whether this browser may read: any answer 401 says no. There is no token in the page; the cookie is out of its reach. */
import { createSignal } from "./signal.ts";

export const signIn = createSignal<"unknown" | "in" | "out">("unknown");

export function signedOut(): void {
  signIn.set("out");
}

export function signedIn(): void {
  signIn.set("in");
}
