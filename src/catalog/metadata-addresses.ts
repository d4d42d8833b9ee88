// Addresses at which cloud machines get their credentials. No request that a tenant can aim goes there, not even to a
// local provider or a private webhook: url-policy.ts refuses the written address, and self-hosted the runtime's network
// refuses what a name resolves to.

/** Link-local addresses, then others: Alibaba, Azure, Oracle, and by IPv6 AWS (also EKS), Google, Scaleway and Oracle. */
export const METADATA_NETWORKS = [
  "169.254.0.0/16",
  "100.100.100.200/32",
  "168.63.129.16/32",
  "192.0.0.192/32",
  "fe80::/10",
  "fd00:ec2::254/128",
  "fd00:ec2::23/128",
  "fd20:ce::254/128",
  "fd00:42::42/128",
  "fd00:c1::a9fe:a9fe/128",
];

const METADATA_NAMES = /^(metadata|instance-data|metadata\.goog|metadata\.tencentyun\.com|.*\.metadata\.packet\.net)$/;
const METADATA_INTERNAL = /^(metadata|instance-data)\..*\binternal$/;

export const IPV4 = /^\d{1,3}(\.\d{1,3}){3}$/;
const BITS = { ipv4: 32, ipv6: 128 } as const;
const joined = (parts: readonly number[], bits: bigint): bigint =>
  parts.reduce((all, part) => (all << bits) | BigInt(part), 0n);

const numberOf = (address: string): bigint => {
  if (IPV4.test(address)) return joined(address.split(".").map(Number), 8n);
  const [head = [], tail = []] = address
    .split("::")
    .map((half) => half.split(":").flatMap((group) => (group === "" ? [] : [Number.parseInt(group, 16)])));
  const zeros = new Array<number>(Math.max(0, 8 - head.length - tail.length)).fill(0);
  return joined([...head, ...zeros, ...tail], 16n);
};

const NETWORKS = METADATA_NETWORKS.map((text) => {
  const [address = "", length = ""] = text.split("/");
  const bits = IPV4.test(address) ? BITS.ipv4 : BITS.ipv6;
  return { bits, hostBits: BigInt(bits - Number(length)), start: numberOf(address) };
});

/** `hostname` as a URL shows it: IPv4 with four decimals, IPv6 in brackets, names in lower case. */
export const isMetadataHost = (hostname: string): boolean => {
  if (IPV4.test(hostname)) return isInside(numberOf(hostname), BITS.ipv4);
  if (!hostname.startsWith("[")) return METADATA_NAMES.test(hostname) || METADATA_INTERNAL.test(hostname);
  const address = numberOf(hostname.slice(1, -1));
  // The last 32 bits can contain an IPv4 address: ::ffff:169.254.169.254, 64:ff9b::169.254.169.254.
  return isInside(address, BITS.ipv6) || isInside(BigInt.asUintN(BITS.ipv4, address), BITS.ipv4);
};

const isInside = (address: bigint, bits: number): boolean =>
  NETWORKS.some((one) => one.bits === bits && address >> one.hostBits === one.start >> one.hostBits);
