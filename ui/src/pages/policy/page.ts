import { ShieldCheck } from "lucide-react";
import type { Page } from "../page.ts";

export const page: Page = {
  title: "Tools and policy",
  path: "/policy",
  icon: ShieldCheck,
  section: "rules",
  order: 90,
  key: "p",
  load: async () => (await import("./policy-page.tsx")).PolicyPage,
};
