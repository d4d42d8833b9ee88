// Which hosts need no proxy, as curl and Go read NO_PROXY: names with all that is below them, addresses and networks
// (10.0.0.0/8), each of one port if it has one; `*` is every host.

import net from "node:net";

/** Of a host's name or address, without brackets, and the port that is asked for. */
type Rule = (host: string, port: string) => boolean;

const withoutBrackets = (host: string): string => host.replace(/^\[|\]$/g, "");

/** Null: it is neither an address nor a network. */
const addressRule = (text: string): Rule | null => {
  const [address = "", bits] = withoutBrackets(text).split("/");
  const version = net.isIP(address);
  const most = version === 4 ? 32 : 128;
  const prefix = bits === undefined ? most : Number.parseInt(bits, 10);
  if (version === 0 || !Number.isInteger(prefix) || prefix < 0 || prefix > most) return null;
  const family = version === 4 ? "ipv4" : "ipv6";
  const network = new net.BlockList();
  network.addSubnet(address, prefix, family);
  return (host) => net.isIP(host) === version && network.check(host, family);
};

const nameRule = (text: string): Rule => {
  const name = text.replace(/^\*?\./, "").toLowerCase();
  return (host) => host === name || host.endsWith(`.${name}`);
};

const ruleOf = (entry: string): Rule => {
  if (entry === "*") return () => true;
  const [, text = entry, ofPort] = (net.isIP(entry) === 0 && /^(.+):(\d+)$/.exec(entry)) || [];
  const isMeant = addressRule(text) ?? nameRule(text);
  return (host, port) => (ofPort === undefined || ofPort === port) && isMeant(host, port);
};

/** Whether an address is reached without a proxy. */
export const withoutProxy = (noProxy: string): ((url: URL) => boolean) => {
  const rules = noProxy
    .split(/[\s,]+/)
    .filter((entry) => entry !== "")
    .map(ruleOf);
  return ({ protocol, hostname, port }) => {
    const usual = protocol === "https:" ? "443" : "80";
    return rules.some((rule) => rule(withoutBrackets(hostname), port || usual));
  };
};
