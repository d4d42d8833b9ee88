// The networks that the service's own code can reach, each with its addresses. Where the operator's proxies lead out,
// workerd asks this server's own process, as if that were a proxy; what needs none comes back to the same network.

import path from "node:path";
import { METADATA_NETWORKS } from "../../src/catalog/metadata-addresses.ts";
import { type Expression, record } from "./capnp-text.ts";

/** Private and reserved IPv4 networks, and those of this machine: the network knows them only by IPv4. */
const PRIVATE_IPV4 = ["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"];

/** An IPv4 network as IPv6 writes it within NAT64 (RFC 6052) and 6to4 (RFC 3056). */
const inIpv6 = (network: string): string[] => {
  const [address = "", bits = ""] = network.split("/");
  const [a = 0, b = 0, c = 0, d = 0] = address.split(".").map(Number);
  const [high, low] = [a * 256 + b, c * 256 + d].map((part) => part.toString(16));
  return [`64:ff9b::${high}:${low}/${96 + Number(bits)}`, `2002:${high}:${low}::/${16 + Number(bits)}`];
};

const isIpv4 = (network: string): boolean => network.includes(".");
/** A gateway of the network leads from such an address to the IPv4 address in it; `::/96` is the same, and deprecated. */
const DENIED = {
  metadata: [...METADATA_NETWORKS, ...METADATA_NETWORKS.filter(isIpv4).flatMap(inIpv6)],
  private: [...PRIVATE_IPV4.flatMap(inIpv6), "::/96"],
};

const NETWORKS = {
  internet: { allow: ["public"], deny: [...DENIED.metadata, ...DENIED.private] },
  // What it is asked for is allowed to be private, and may as well be public: a webhook, a collector of spans.
  "private-network": { allow: ["private", "public"], deny: DENIED.metadata },
} as const;
type NetworkName = keyof typeof NETWORKS;
const NAMES = Object.keys(NETWORKS) as NetworkName[];

/** Unix sockets: where this server is asked, and where it reaches the network itself. */
export interface Detour {
  readonly asked: string;
  readonly direct: string;
}
export type Detours = Readonly<Record<NetworkName, Detour>>;

export const detoursIn = (folder: string): Detours => {
  const detour = (name: string): Detour => ({
    asked: path.join(folder, `ask-${name}.sock`),
    direct: path.join(folder, `to-${name}.sock`),
  });
  return { internet: detour("public"), "private-network": detour("private") };
};

/** Those of `direct` are made by workerd, and block its next process where one is killed. */
export const directSockets = (detours: Detours | null): string[] =>
  Object.values(detours ?? {}).map(({ direct }) => direct);

/** The request line has the whole address, as one for a proxy. */
const AS_TO_A_PROXY = record({ style: { text: "proxy" } });
const directOf = (name: NetworkName): string => `direct-${name}`;

const network = (name: string, { allow, deny }: (typeof NETWORKS)[NetworkName], certificates: readonly string[]) => {
  const trusted = certificates.length === 0 ? {} : { trustedCertificates: certificates };
  return record({
    name,
    network: record({ allow, deny, tlsOptions: record({ trustBrowserCas: true, ...trusted }) }),
  });
};

export const networkServices = (certificates: readonly string[], detours: Detours | null): Expression[] =>
  NAMES.flatMap((name) => {
    if (detours === null) return [network(name, NETWORKS[name], certificates)];
    const external = record({ address: `unix:${detours[name].asked}`, http: AS_TO_A_PROXY });
    return [record({ name, external }), network(directOf(name), NETWORKS[name], certificates)];
  });

export const detourSockets = (detours: Detours | null): Expression[] =>
  detours === null
    ? []
    : NAMES.map((name) => {
        const address = `unix:${detours[name].direct}`;
        return record({ name: directOf(name), address, http: AS_TO_A_PROXY, service: directOf(name) });
      });
