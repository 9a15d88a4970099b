import { expect, test } from "vitest";
import { createBwrapSandbox } from "../../src/adapters/sandbox-bwrap/create-bwrap-sandbox.ts";
import { sandboxWhenNeeded } from "../../src/boot/built-in-tools.ts";
import { DEFAULT_CONFIG } from "../../src/boot/config/default-config.ts";
import { startGuide, warningWithoutSandbox } from "../../src/boot/start-guide.ts";
import { systemClock } from "../../src/boot/system-clock.ts";
import { temporaryHome } from "./temporary-home.ts";

const { tools } = DEFAULT_CONFIG;

async function guide(config = DEFAULT_CONFIG, variables: Readonly<Record<string, string>> = {}): Promise<string> {
  const home = await temporaryHome();
  const rows = startGuide({ home, config, readVariable: (name) => variables[name] });
  return rows.map(([name, value]) => `${name} ${value.replace(home.directory, "HOME")}`).join("\n");
}

test("a start says the model, the workspace, what is switched off and what to try", async () => {
  expect(await guide()).toBe(
    [
      "model builtin:demo, a demonstration without key and network; docs/models.md adds a real one",
      "workspace HOME/workspace",
      "off web.search: it needs tools.search.url",
      "off the network, until you grant a session a host: surety caps grant net:HOST --session S",
      'try surety run "list files"',
      "help surety --help",
    ].join("\n"),
  );
});

test("what policy takes away is named, with the command that gives it back", async () => {
  const policy = {
    ...tools.policy,
    sideEffects: "disabled" as const,
    allow: ["fs.*", "message.*", "web.*", "http.get"],
  };
  const told = await guide({
    ...DEFAULT_CONFIG,
    tools: { ...tools, policy, workspace: "/srv/work", search: { url: "http://127.0.0.1:1" } },
  });
  expect(told).toContain("workspace /srv/work");
  expect(told).toContain("off side effects: surety config unset tools.policy.sideEffects");
  expect(told).toContain("off shell.exec: surety config add tools.policy.allow shell.exec");
  expect(told).not.toContain("web.search");
});

test("in a clone the commands go through npm", async () => {
  const npm = { npm_package_name: "surety", npm_lifecycle_event: "start", INIT_CWD: "/clone" };
  expect(await guide(DEFAULT_CONFIG, npm)).toContain('try npm run --silent surety -- run "list files"');
});

test("where commands cannot be contained, a start says so in one line, with what to do", async () => {
  const clock = systemClock;
  const without = createBwrapSandbox({
    ...{ clock, bwrapPath: "/usr/bin/no-such-bwrap", architecture: process.arch, fallbackUser: null },
  });
  expect(await warningWithoutSandbox(DEFAULT_CONFIG, without)).toBe(
    "warning sandbox.required: shell.exec is off for now. There is no bubblewrap at /usr/bin/no-such-bwrap: install the package bubblewrap, 0.8 or newer.",
  );
  expect(await warningWithoutSandbox(DEFAULT_CONFIG, sandboxWhenNeeded(clock))).toBeNull();
  const denied = { ...DEFAULT_CONFIG, tools: { ...tools, policy: { ...tools.policy, allow: ["fs.*"] } } };
  expect(await warningWithoutSandbox(denied, without)).toBeNull();
});
