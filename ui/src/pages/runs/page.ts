import { Activity } from "lucide-react";
import type { Page } from "../page.ts";

export const page: Page = {
  title: "Runs",
  path: "/runs/:id?",
  icon: Activity,
  section: "work",
  order: 40,
  key: "r",
  isOnPhone: true,
  load: async () => (await import("./runs-or-run.tsx")).RunsOrRun,
};
