// The address of a client. Behind proxies that the operator trusts (SERVICE_TRUST_PROXY) it is what the last of them
// writes into X-Forwarded-For; from any other sender that header is ignored, because a client can write anything.

import type { IncomingMessage } from "node:http";
import { BlockList, isIP } from "node:net";
import { ExitError } from "../exit-error.ts";

const BITS = { 4: 32, 6: 128 } as const;
const MAPPED = /^::ffff:(?=\d+\.)/i;

const familyOf = (address: string): "ipv4" | "ipv6" => (isIP(address) === 6 ? "ipv6" : "ipv4");

/** Networks (`10.0.0.0/8`) and addresses, divided by commas. */
export const readTrustedProxies = (text: string | undefined): BlockList => {
  const trusted = new BlockList();
  for (const one of (text ?? "").split(",").map((part) => part.trim())) {
    if (one === "") continue;
    const [address = "", prefix, ...more] = one.split("/");
    const version = isIP(address) as 0 | 4 | 6;
    const bits = version === 0 ? 0 : BITS[version];
    const length = prefix === undefined ? bits : /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN;
    if (version === 0 || more.length > 0 || !(length <= bits))
      throw new ExitError(
        `SERVICE_TRUST_PROXY has "${one}": use networks such as 10.0.0.0/8 or fd00::/8, divided by commas.`,
        2,
      );
    trusted.addSubnet(address, length, familyOf(address));
  }
  return trusted;
};

/** Read from the right: each proxy adds who asked it, and everything before the first untrusted one is hearsay. */
export const clientAddress = ({ socket, headers }: IncomingMessage, trusted: BlockList): string => {
  const isTrusted = (address: string): boolean => isIP(address) !== 0 && trusted.check(address, familyOf(address));
  const forwarded = String(headers["x-forwarded-for"] ?? "").split(",");
  let address = plain(socket.remoteAddress ?? "");
  while (isTrusted(address)) {
    const before = plain(forwarded.pop()?.trim() ?? "");
    if (isIP(before) === 0) break;
    address = before;
  }
  return address;
};

/** An IPv4 address on a socket for both families; some proxies add the port. */
const plain = (address: string): string => {
  const bare = /^\[(.*)\](?::\d+)?$/.exec(address)?.[1] ?? /^([\d.]+):\d+$/.exec(address)?.[1] ?? address;
  return bare.replace(MAPPED, "");
};
