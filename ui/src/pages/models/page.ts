import { Wallet } from "lucide-react";
import type { Page } from "../page.ts";

export const page: Page = {
  title: "Models and spend",
  path: "/models",
  icon: Wallet,
  section: "rules",
  order: 120,
  key: "m",
  load: async () => (await import("./models-page.tsx")).ModelsPage,
};
