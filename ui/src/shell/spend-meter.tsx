import { Link } from "wouter";
import { useRecord } from "../data/records.ts";
import { dollars } from "../parts/dollars.ts";
import { Meter } from "../parts/meter.tsx";
import styles from "./shell.module.css";

/** What today has cost, what is held for inferences in progress, and the day's limit if there is one. */
export function SpendMeter() {
  const { value } = useRecord("budget.get", {});
  const today = value?.days[0]?.spent.find(({ scope }) => scope === "all");
  const { usd = 0, reserved_usd: held = 0, limit_usd: limit = null } = today ?? {};
  if (value === undefined || (usd === 0 && limit === null)) return null;
  const spent = Math.max(0, usd - held);
  const words = `${dollars(spent)}${held > 0 ? ` + ${dollars(held)} held` : ""}`;
  const text = limit === null ? `${words} today` : `${words} of ${dollars(limit)}`;
  return (
    <span className={styles["spend"]}>
      <Link
        href="/models"
        title={limit === null ? "No limit is set for a day" : "Spent today, held and the day's limit"}
      >
        {text}
      </Link>
      {limit !== null && <Meter label="Spend today" spent={spent} held={held} limit={limit} text={text} />}
    </span>
  );
}
