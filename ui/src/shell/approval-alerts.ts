/**
 * What a person hears of who looks elsewhere: that an approval waits. To screen readers always, on the desktop if they asked
 * for it. It says nothing of what is asked: text of others never comes in here.
 */
import { useEffect, useRef } from "react";
import { kept } from "../data/kept.ts";
import { useSignal } from "../data/signal.ts";
import { announceQuietly } from "../parts/announcer.tsx";

const wanted = kept<boolean>("notify", false);

export function useApprovalAlerts(waiting: number | undefined): void {
  const before = useRef<number | undefined>(undefined);
  useEffect(() => {
    const isMore = waiting !== undefined && before.current !== undefined && waiting > before.current;
    before.current = waiting;
    if (!isMore) return;
    announceQuietly("Approval needed.");
    if (wanted.get() && document.visibilityState === "hidden") notify(waiting);
  }, [waiting]);
}

function notify(waiting: number): void {
  if (!("Notification" in globalThis) || Notification.permission !== "granted") return;
  const body = waiting === 1 ? "One call waits for your approval." : `${waiting} calls wait for your approval.`;
  // The same tag: several tabs show one.
  const shown = new Notification("Surety", { body, tag: "surety-approvals" });
  shown.onclick = () => {
    globalThis.focus();
    shown.close();
  };
}

/** On only while the browser lets the page: `set` asks it. */
export function useDesktopAlerts(): { readonly isOn: boolean; set(isOn: boolean): Promise<boolean> } {
  const isWanted = useSignal(wanted);
  const isAllowed = "Notification" in globalThis && Notification.permission === "granted";
  return {
    isOn: isWanted && isAllowed,
    async set(isOn) {
      const isGranted = isOn && "Notification" in globalThis && (await Notification.requestPermission()) === "granted";
      wanted.set(isGranted);
      return isGranted === isOn;
    },
  };
}
