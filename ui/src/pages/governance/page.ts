import { SlidersHorizontal } from "lucide-react";
import type { Page } from "../page.ts";

export const page: Page = {
  title: "Governance",
  path: "/governance",
  icon: SlidersHorizontal,
  section: "rules",
  order: 110,
  load: async () => (await import("./governance-page.tsx")).GovernancePage,
};
