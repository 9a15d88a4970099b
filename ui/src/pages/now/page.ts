import { Inbox } from "lucide-react";
import type { Page } from "../page.ts";

export const page: Page = {
  title: "Now",
  path: "/",
  icon: Inbox,
  section: "work",
  order: 10,
  key: "n",
  isOnPhone: true,
  load: async () => (await import("./now-page.tsx")).NowPage,
};
