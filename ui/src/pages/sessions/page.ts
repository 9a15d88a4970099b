import { MessagesSquare } from "lucide-react";
import type { Page } from "../page.ts";

export const page: Page = {
  title: "Sessions",
  path: "/sessions/:id?",
  icon: MessagesSquare,
  section: "work",
  order: 50,
  key: "e",
  load: async () => (await import("./sessions-page.tsx")).SessionsPage,
};
