import { MessageSquare } from "lucide-react";
import type { Page } from "../page.ts";

export const page: Page = {
  title: "Chat",
  path: "/chat/:session?",
  icon: MessageSquare,
  section: "work",
  order: 20,
  key: "c",
  isOnPhone: true,
  load: async () => (await import("./chat-page.tsx")).ChatPage,
};
