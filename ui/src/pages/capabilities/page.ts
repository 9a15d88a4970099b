import { KeyRound } from "lucide-react";
import type { Page } from "../page.ts";

export const page: Page = {
  title: "Capabilities",
  path: "/capabilities",
  icon: KeyRound,
  section: "rules",
  order: 100,
  load: async () => (await import("./capabilities-page.tsx")).CapabilitiesPage,
};
