// Links to a file, readable without a key until their time: the file and the time, signed with the deployment's secret.
// Whether the file is still there is asked when the link is followed.

import { hmac } from "../http/key-format.ts";
import type { TenantName } from "../http/tenant-object.ts";

export interface Link extends TenantName {
  readonly fileId: string;
  /** Epoch seconds. */
  readonly untilSeconds: number;
}

const PURPOSE = "signalbox file link";
const REGIONS = { eu: "eu", fedramp: "fedramp", "": null } as const;

const base64Url = (bytes: ArrayBuffer): string =>
  btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace(/=+$/, "");

const textOf = ({ tenant, jurisdiction, fileId, untilSeconds }: Link): string =>
  [tenant, jurisdiction ?? "", fileId, String(untilSeconds)].join(".");

const macOf = async (secret: string, text: string): Promise<string> =>
  base64Url(await hmac(secret, `${PURPOSE}\n${text}`));

export const signLink = async (secret: string, link: Link): Promise<string> => {
  const text = textOf(link);
  return `${text}.${await macOf(secret, text)}`;
};

/** null: not ours, or its time is over. */
export const readLink = async (secret: string, signed: string, nowAt: number): Promise<Link | null> => {
  const [tenant = "", region = "", fileId = "", until = "", mac = "", ...rest] = signed.split(".");
  const text = [tenant, region, fileId, until].join(".");
  const isOurs = rest.length === 0 && mac !== "" && (await macOf(secret, text)) === mac;
  if (!isOurs || Number(until) * 1000 <= nowAt) return null;
  return { tenant, jurisdiction: REGIONS[region as keyof typeof REGIONS] ?? null, fileId, untilSeconds: Number(until) };
};
