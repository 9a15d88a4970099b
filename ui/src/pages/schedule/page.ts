import { CalendarClock } from "lucide-react";
import type { Page } from "../page.ts";

export const page: Page = {
  title: "Schedule",
  path: "/schedule",
  icon: CalendarClock,
  section: "work",
  order: 60,
  load: async () => (await import("./schedule-page.tsx")).SchedulePage,
};
