import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { routeOf } from "../../../src/assistant/sessions/inbound-message.ts";
import { sessionKey } from "../../../src/assistant/sessions/session-key.ts";
import { verifies } from "../../requirements.ts";
import { said } from "./open-chat.ts";

const dm = (channel: string, accountId: string, peer: string) =>
  sessionKey({ agentId: "main", channel, accountId, kind: "dm", peer });

verifies(["P-5.1", "P-6/session-key"], "the seed's two keys come out byte for byte", () => {
  expect(dm("telegram", "123456789", "987654321")).toBe("agent:main:telegram:123456789:dm:987654321");
  expect(dm("whatsapp", "+15551234567", "+15559876543")).toBe("agent:main:whatsapp:+15551234567:dm:+15559876543");
});

describe("a key", () => {
  test("cannot be forged by a colon in an id", () => {
    expect(dm("telegram", "1", "2:dm:3")).toBe("agent:main:telegram:1:dm:2%3Adm%3A3");
    expect(dm("telegram", "1:dm:2", "3")).not.toBe(dm("telegram", "1", "2:dm:3"));
    expect(dm("telegram", "1", "2%3A")).not.toBe(dm("telegram", "1", "2:"));
  });

  test("has one spelling of composed characters, and keeps capitals apart", () => {
    expect(dm("cli", "1", "e\u0301")).toBe(dm("cli", "1", "\u00e9"));
    expect(dm("cli", "1", "User")).not.toBe(dm("cli", "1", "user"));
  });

  test("belongs to one origin", () => {
    const part = fc.string({ minLength: 1, maxLength: 4, unit: fc.constantFrom("a", ":", "%", "3", "A", "dm") });
    const origin = fc.record({
      agentId: part,
      channel: part,
      accountId: part,
      kind: fc.constantFrom("dm", "group", "room", "job", "run"),
      peer: part,
    });
    fc.assert(
      fc.property(origin, origin, (one, other) => {
        expect(sessionKey(one) === sessionKey(other)).toBe(JSON.stringify(one) === JSON.stringify(other));
      }),
    );
  });
});

verifies(
  ["T-2.3/dm", "T-2.3/group", "T-2.3/links"],
  "a sender has a session per channel, a group one for all, linked identities one together",
  () => {
    const key = (also: Parameters<typeof said>[1], links: readonly string[] = []) =>
      routeOf(said("hi", also), links.length === 0 ? [] : [{ id: "ann", links }]).key;
    const group = { kind: "group", id: "7", mentioned: true } as const;
    expect(key({ channel: "telegram" })).not.toBe(key({ channel: "discord" }));
    expect(key({ senderId: "1", group })).toBe(key({ senderId: "2", group }));
    expect(key({ group })).toBe("agent:main:http:default:group:7");
    expect(key({ group: { ...group, kind: "room" } })).toBe("agent:main:http:default:room:7");
    const links = ["telegram:42", "discord:43"];
    expect(key({ channel: "discord", senderId: "43" }, links)).toBe("agent:main:telegram:default:dm:42");
    expect(key({ channel: "telegram", senderId: "42" }, links)).toBe("agent:main:telegram:default:dm:42");
    expect(key({ channel: "discord", senderId: "42" }, links)).toBe("agent:main:discord:default:dm:42");
    expect(routeOf(said("hi", { channel: "discord", senderId: "43" }), [{ id: "ann", links }]).senderId).toBe("ann");
  },
);
