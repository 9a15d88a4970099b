import { Stamp } from "lucide-react";
import type { Page } from "../page.ts";

export const page: Page = {
  title: "Approvals",
  path: "/approvals/:id?",
  icon: Stamp,
  section: "work",
  order: 30,
  key: "a",
  isOnPhone: true,
  load: async () => (await import("./approvals-page.tsx")).ApprovalsPage,
};
