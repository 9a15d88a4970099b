import { Ghost } from "lucide-react";
import type { Page } from "../page.ts";

export const page: Page = {
  title: "Ghosts",
  path: "/ghosts",
  icon: Ghost,
  section: "work",
  order: 70,
  load: async () => (await import("./ghosts-page.tsx")).GhostsPage,
};
