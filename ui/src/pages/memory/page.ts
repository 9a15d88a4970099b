import { BookMarked } from "lucide-react";
import type { Page } from "../page.ts";

export const page: Page = {
  title: "Memory",
  path: "/memory/:id?",
  icon: BookMarked,
  section: "work",
  order: 70,
  load: async () => (await import("./memory-page.tsx")).MemoryPage,
};
