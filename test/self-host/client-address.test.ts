// Whose address counts: the socket's, or behind trusted proxies what the last of them says.

import type { IncomingMessage } from "node:http";
import { expect, it } from "vitest";
import { clientAddress, readTrustedProxies } from "../../self-host/settings/client-address.ts";

const asked = (remoteAddress: string, forwarded?: string) =>
  ({ socket: { remoteAddress }, headers: { "x-forwarded-for": forwarded } }) as unknown as IncomingMessage;

const TRUSTED = "10.0.0.0/8, 192.0.2.7,fd00::/8";

it.each([
  ["nobody is trusted by default", "", "10.0.0.1", "203.0.113.9", "10.0.0.1"],
  ["a stranger may write what it likes", TRUSTED, "203.0.113.1", "198.51.100.1", "203.0.113.1"],
  ["a trusted proxy names its client", TRUSTED, "10.1.2.3", "203.0.113.9", "203.0.113.9"],
  ["a single address is a network, too", TRUSTED, "192.0.2.7", "203.0.113.9", "203.0.113.9"],
  [
    "of several proxies the first untrusted one counts",
    TRUSTED,
    "10.0.0.1",
    "1.1.1.1, 203.0.113.9, 10.0.0.2",
    "203.0.113.9",
  ],
  ["a trusted proxy that names nobody is the client", TRUSTED, "10.0.0.1", undefined, "10.0.0.1"],
  ["nonsense is no address", TRUSTED, "10.0.0.1", "203.0.113.9, unknown", "10.0.0.1"],
  ["IPv4 on a socket for both families", TRUSTED, "::ffff:10.0.0.1", "::ffff:203.0.113.9", "203.0.113.9"],
  ["IPv6, in brackets with a port", TRUSTED, "fd00::1", "[2001:db8::9]:4711", "2001:db8::9"],
  ["IPv4 with a port", TRUSTED, "fd00::1", "203.0.113.9:4711", "203.0.113.9"],
])("%s", (_, trusted, remote, forwarded, expected) => {
  expect(clientAddress(asked(remote, forwarded), readTrustedProxies(trusted))).toBe(expected);
});

it.each(["10.0.0.0/33", "10.0.0.0/x", "proxy.example", "10.0.0.0/8/8", "fd00::/129", "10.0.0.0/"])(
  "a start with SERVICE_TRUST_PROXY=%s says what is wrong",
  (text) => {
    expect(() => readTrustedProxies(text)).toThrow(`SERVICE_TRUST_PROXY has "${text}"`);
  },
);
