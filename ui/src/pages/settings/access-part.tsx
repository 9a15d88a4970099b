import { useState } from "react";
import { useActing } from "../../data/acting.ts";
import { type AnswerOf, call } from "../../data/client.ts";
import { refresh, useRecord } from "../../data/records.ts";
import { signedOut } from "../../data/sign-in.ts";
import { Button } from "../../parts/button.tsx";
import { Card } from "../../parts/card.tsx";
import { Confirm } from "../../parts/confirm.tsx";
import { ErrorNote } from "../../parts/error-note.tsx";
import { HostileText } from "../../parts/hostile-text.tsx";
import { Skeleton } from "../../parts/skeleton.tsx";
import { Table } from "../../parts/table.tsx";
import { Tag } from "../../parts/tag.tsx";
import { Time } from "../../parts/time.tsx";
import styles from "./settings.module.css";
import { TokensCard } from "./tokens-card.tsx";

type Browser = AnswerOf<"browsers.list">["browser_sessions"][number];

/** Browsers that are signed in, and tokens of programs. */
export function AccessPart() {
  return (
    <>
      <BrowsersCard />
      <TokensCard />
    </>
  );
}

function BrowsersCard() {
  const { value, error } = useRecord("browsers.list", {});
  const [ending, setEnding] = useState<Browser | null>(null);
  const acting = useActing();
  const leaving = useActing();
  const logOut = (): Promise<boolean> =>
    leaving.run("out", async () => {
      await call("logout", {});
      signedOut();
    });
  return (
    <Card
      title="Browsers"
      aside={
        <Button blocked={leaving.blocked} onClick={logOut}>
          {leaving.busy === null ? "Log out here" : "Sending…"}
        </Button>
      }
    >
      {error !== null && <ErrorNote error={error} />}
      {leaving.error !== null && <ErrorNote error={leaving.error} />}
      {value === undefined && error === null && <Skeleton rows={2} />}
      {value !== undefined && (
        <Table
          label="Browsers that are signed in"
          rows={value.browser_sessions}
          keyOf={({ id }) => id}
          columns={[
            {
              title: "Browser",
              draw: ({ user_agent, is_this }) => (
                <span className={styles["browser"]}>
                  <HostileText text={browserWords(user_agent)} /> {is_this && <Tag>this one</Tag>}
                </span>
              ),
            },
            { title: "Since", draw: ({ created_at }) => <Time at={created_at} /> },
            { title: "Last seen", draw: ({ seen_at }) => <Time at={seen_at} /> },
            { title: "Until", draw: ({ expires_at }) => <Time at={expires_at} /> },
            {
              title: "",
              kind: "narrow",
              draw: (browser) =>
                browser.is_this ? null : (
                  <Button
                    blocked={acting.blocked}
                    aria-label={`End the session of ${browserWords(browser.user_agent)}`}
                    onClick={() => setEnding(browser)}
                  >
                    End
                  </Button>
                ),
            },
          ]}
        />
      )}
      <p className={styles["minor"]}>
        <code>surety login</code> prints a link that signs another browser in.
      </p>
      {ending !== null && (
        <Confirm
          title="End this browser's session?"
          verb="End it"
          acting={acting}
          onClose={() => setEnding(null)}
          onConfirm={async () => {
            await call("browsers.end", { id: ending.id });
            refresh("browsers.list", {});
          }}
        >
          <p className={styles["browser"]}>
            <HostileText text={browserWords(ending.user_agent)} />
          </p>
          <p>Its pages stop at once. To come back it needs a new login link.</p>
        </Confirm>
      )}
    </Card>
  );
}

/** A browser says more about itself than anybody reads; the rest is on hover. */
function browserWords(agent: string): string {
  const system = /Windows|Macintosh|Android|iPhone|iPad|CrOS|Linux/.exec(agent)?.[0];
  const name = /(?:Firefox|Edg|OPR|HeadlessChrome|Chrome|Version)\/[\d]+/.exec(agent)?.[0];
  if (name === undefined || system === undefined) return agent.slice(0, 120) || "a browser that does not say its name";
  const [product = "", version = ""] = name.split("/");
  const known: Readonly<Record<string, string>> = {
    Edg: "Edge",
    OPR: "Opera",
    HeadlessChrome: "Chrome",
    Version: "Safari",
  };
  return `${known[product] ?? product} ${version} on ${system}`;
}
