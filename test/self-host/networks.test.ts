// Which addresses the service's own code can reach on a server. In workerd a network reaches only what it names.

import path from "node:path";
import { expect, test } from "vitest";
import { type Detours, detoursIn } from "../../self-host/config/networks.ts";
import { wholeConfig } from "../../self-host/config/serving-config.ts";
import { dataDirAt } from "../../self-host/data/data-dir.ts";

const project = {
  compatibilityDate: "2026-01-01",
  compatibilityFlags: [],
  crons: [],
  databases: [],
  durableObjects: [],
  vars: {},
} as unknown as Parameters<typeof wholeConfig>[0]["project"];

const configOf = (certificates: readonly string[] = [], detours: Detours | null = null): string => {
  const dir = dataDirAt(path.resolve("nowhere"));
  const serving = {
    project,
    storage: { objects: dir.objects, crons: dir.crons },
    configFile: dir.servingConfig,
    archive: null,
    environment: [],
    certificates,
    detours,
    heapMib: undefined,
  };
  return wholeConfig(serving, dir, { host: "127.0.0.1", port: 1 });
};

const networksOf = (list: "allow" | "deny", detours: Detours | null = null): Record<string, string> => {
  const found = configOf([], detours).matchAll(
    /name = "([\w-]+)", network = \(allow = \[([^\]]*)\], deny = \[([^\]]*)\]/g,
  );
  return Object.fromEntries([...found].map(([, name, allow, deny]) => [name, list === "allow" ? allow : deny]));
};

test("what may go to private addresses may go to public ones, too, and nothing else goes to private ones", () => {
  expect(networksOf("allow")).toEqual({ internet: '"public"', "private-network": '"private", "public"' });
});

test("where proxies lead out, only what they are not for reaches a network, and the same addresses of it", () => {
  const detours = detoursIn("/run");
  for (const list of ["allow", "deny"] as const) {
    const { internet, "private-network": near } = networksOf(list);
    expect(networksOf(list, detours)).toEqual({ "direct-internet": internet, "direct-private-network": near });
  }
  expect(configOf([], detours)).toContain('name = "internet", external = (address = "unix:/run/ask-public.sock"');
});

test("no address of IPv6 leads to a private one of IPv4, and none to where clouds keep credentials", () => {
  const { internet = "", "private-network": near = "" } = networksOf("deny");
  const through = ["64:ff9b::a00:0/104", "64:ff9b::7f00:0/104", "64:ff9b::c0a8:0/112", "2002:a00:0::/24", "::/96"];
  for (const network of through) expect(internet).toContain(`"${network}"`);
  for (const network of ["64:ff9b::a9fe:0/112", "2002:a9fe:0::/32", "fd00:ec2::23/128", "fd00:c1::a9fe:a9fe/128"])
    for (const denied of [internet, near]) expect(denied).toContain(`"${network}"`);
  // Where the network has no IPv4 of its own, public names lead through such addresses.
  expect(internet).not.toContain('"64:ff9b::/96"');
});

test("the operator's own certificate authorities are trusted besides the public ones, wherever a call goes", () => {
  const trusted = [...configOf(["-----A-----\n"]).matchAll(/tlsOptions = (\([^)]*\))/g)].map(([, options]) => options);
  const expected = String.raw`(trustBrowserCas = true, trustedCertificates = ["-----A-----\x0a"])`;
  expect(trusted).toEqual([expected, expected]);
});
