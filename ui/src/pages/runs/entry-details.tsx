import { useEffect, useState } from "react";
import { HostileText } from "../../parts/hostile-text.tsx";
import { JsonTree } from "../../parts/json-tree.tsx";
import { Mono } from "../../parts/mono.tsx";
import { Skeleton } from "../../parts/skeleton.tsx";
import { Tag } from "../../parts/tag.tsx";
import { Time } from "../../parts/time.tsx";
import type { EntryDetails as Details } from "../../verify/run-verification.ts";
import { askVerifier } from "../../verify/verifier.ts";
import styles from "./timeline.module.css";

const MAX_TEXT_CHARS = 20_000;

/** What was decided, what came of it, the texts it names, and its hashes. */
export function EntryDetails({ verification, seq }: { verification: string; seq: number }) {
  const [details, setDetails] = useState<Details | null>(null);
  useEffect(() => {
    let isWanted = true;
    askVerifier<"details">({ type: "details", key: verification, seq }).then(
      (found) => isWanted && setDetails(found),
      // The verifier says on the page that it could not be started.
      () => {},
    );
    return () => {
      isWanted = false;
    };
  }, [verification, seq]);
  if (details === null) return <Skeleton rows={3} />;
  const { entry, texts } = details;
  const { labels, ts, actor, prev, hash, actionHash, resultHash, contractHash } = entry;
  const hashes = { hash, prev, action: actionHash, result: resultHash, contract: contractHash };
  return (
    <div className={styles["details"]}>
      <p className={styles["facts"]}>
        <Time at={ts} />
        <span>by {actor}</span>
        {labels.integrity === "untrusted" ? (
          <Tag tone="untrusted">{`untrusted × ${labels.confidentiality}`}</Tag>
        ) : (
          <Tag>{`${labels.integrity} × ${labels.confidentiality}`}</Tag>
        )}
      </p>
      <section>
        <h3>Decided</h3>
        <JsonTree value={entry.decided} />
      </section>
      <section>
        <h3>Result</h3>
        {entry.result === null ? <p>none</p> : <JsonTree value={entry.result} />}
      </section>
      {texts.map(({ ref, text, isChanged }) => (
        <section key={ref}>
          <h3>
            Text <Mono title={ref}>{ref.slice(0, 8)}</Mono> {text === null && <Tag>erased</Tag>}
            {isChanged && <Tag tone="fail">changed</Tag>}
          </h3>
          {text !== null && (
            <section className={styles["text"]} tabIndex={0} aria-label={`Text ${ref.slice(0, 8)}`}>
              <pre>
                <HostileText text={text.slice(0, MAX_TEXT_CHARS)} />
              </pre>
              {text.length > MAX_TEXT_CHARS && (
                <p>{`… and ${(text.length - MAX_TEXT_CHARS).toLocaleString("en")} more characters`}</p>
              )}
            </section>
          )}
        </section>
      ))}
      <section>
        <h3>Hashes</h3>
        <dl className={styles["hashes"]}>
          {Object.entries(hashes).map(([name, value]) => [
            <dt key={name}>{name}</dt>,
            <dd key={`${name} value`}>
              <Mono>{value}</Mono>
            </dd>,
          ])}
        </dl>
      </section>
    </div>
  );
}
