// Links to a file, readable without a key until their time: the file and the time, signed with the deployment's secret.
// Whether the file is still there is asked when the link is followed. The signature is computed at once, not awaited,
// because a turn that gives a job out signs the links of its files.

import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { base64Url } from "../../contract/text/base64.ts";
import { isSameDigest } from "../../domain/access/key.ts";
import type { Jurisdiction } from "../object-name.ts";

interface Link {
  readonly tenant: string;
  readonly jurisdiction: Jurisdiction | null;
  readonly fileId: string;
  readonly untilAt: number;
}

const PURPOSE = "signalbox file link";
const REGIONS: Readonly<Record<string, Jurisdiction>> = { eu: "eu", fedramp: "fedramp" };

const encoder = new TextEncoder();

const macOf = (secret: string, text: string): string =>
  base64Url(hmac(sha256, encoder.encode(secret), encoder.encode(`${PURPOSE}\n${text}`)));

/** The path of a link to a file. */
export const linkPath = (secret: string, link: Link, name: string): string => {
  const text = [link.tenant, link.jurisdiction ?? "", link.fileId, String(link.untilAt)].join(".");
  return `/files/${text}.${macOf(secret, text)}/${encodeURIComponent(name)}`;
};

/** Earlier releases wrote seconds. */
const timeOf = (until: string): number => Number(until) * (until.length < 12 ? 1000 : 1);

/** null: not ours, or its time is over. */
export const readLink = (secret: string, signed: string, nowAt: number): Link | null => {
  const [tenant = "", region = "", fileId = "", until = "", mac = "", ...rest] = signed.split(".");
  const text = [tenant, region, fileId, until].join(".");
  const untilAt = timeOf(until);
  if (rest.length > 0 || !isSameDigest(macOf(secret, text), mac) || untilAt <= nowAt) return null;
  return { tenant, jurisdiction: REGIONS[region] ?? null, fileId, untilAt };
};
