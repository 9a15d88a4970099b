/**
 * The shadow loop of a home: how it is configured, and the thread that watches. Off, it costs the start nothing: its code is
 * loaded when it is enabled, or asked for.
 */
import { realpathSync } from "node:fs";
import { relative, resolve } from "node:path";
import type { Shadow, ShadowParts } from "../assistant/shadow/shadow.ts";
import type { Config } from "./config/config.ts";
import { expandTilde, type Home } from "./home.ts";

interface OpeningParts extends Omit<ShadowParts, "pace" | "showPath" | "watch" | "onDefect"> {
  readonly home: Home;
  readonly config: () => Config;
  readonly remark: ((line: string) => void) | undefined;
  readonly onDefect: (errorId: string, error: unknown) => void;
}

export interface ShadowLoop extends Pick<Shadow, "list" | "act"> {
  /** The gateway is up: it watches from now on, if that is configured. */
  start(): void;
  /** `paths`: what has changed of the config. */
  reconfigured(paths: readonly string[]): void;
  stop(): Promise<void>;
}

export function openShadow({ home, config, remark = () => {}, onDefect, ...parts }: OpeningParts): ShadowLoop {
  const pace = (): ReturnType<ShadowParts["pace"]> => {
    const { enabled, ...others } = config().shadow;
    return enabled ? others : null;
  };
  const showPath: ShadowParts["showPath"] = (path) => {
    const { workspace } = config().tools;
    const root = workspace === undefined ? home.workspace : resolve(home.directory, expandTilde(workspace));
    // What is watched is named as it is, links resolved.
    const inside = relative(realpathSync(root), path);
    const isReachable = inside !== ".." && !inside.startsWith("../");
    return { name: isReachable ? inside || "the workspace" : path, isReachable };
  };
  const watch: ShadowParts["watch"] = async (lookAgain, onFinding) => {
    const { startShadowThread } = await import("./shadow-thread.ts");
    return await startShadowThread({ ...{ home, clock: parts.clock, lookAgain, remark, onFinding }, config: config() });
  };
  let opened: Promise<Shadow> | null = null;
  const shadow = (): Promise<Shadow> => {
    opened ??= import("../assistant/shadow/shadow.ts").then(
      (loaded) =>
        new loaded.Shadow({ ...parts, pace, showPath, watch, onDefect: (error) => onDefect("shadow", error) }),
    );
    return opened;
  };
  let isStarted = false;
  /** Not waited for: to look through a large tree takes its time. */
  const restart = (): void => {
    if (opened === null && pace() === null) return;
    shadow()
      .then((loaded) => loaded.restart())
      .catch((error: unknown) => onDefect("shadow", error));
  };
  return {
    list: async (...asked) => await (await shadow()).list(...asked),
    act: async (...asked) => await (await shadow()).act(...asked),
    start: () => {
      isStarted = true;
      restart();
    },
    reconfigured: (paths) => {
      const isAboutThis = paths.some((path) => path.startsWith("shadow") || path.startsWith("tools.workspace"));
      if (isStarted && isAboutThis) restart();
    },
    stop: async () => {
      isStarted = false;
      await (await opened)?.stop();
    },
  };
}
