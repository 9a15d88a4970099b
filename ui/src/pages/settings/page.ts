import { Settings } from "lucide-react";
import type { Page } from "../page.ts";

export const page: Page = {
  title: "Settings",
  path: "/settings/:part?",
  icon: Settings,
  section: "rules",
  order: 130,
  key: "s",
  load: async () => (await import("./settings-page.tsx")).SettingsPage,
};
