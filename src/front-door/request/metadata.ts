// What a request says about itself, for people and for cost: the body's `metadata`, its user, and the header
// `X-Signalbox-Metadata`. The client wrote the body for another service, so what does not fit there is cut or left out.
// The header is ours: what does not fit is refused.

import { metadata, metadataName, metadataValue } from "../../../contract/jobs/job.ts";
import { isObject } from "../../../contract/text/json-object.ts";
import { startOf } from "../../../contract/text/start-of.ts";
import { MAX_METADATA_PAIRS } from "../../../contract/words/field.ts";
import { readAs } from "../../../contract/words/validation.ts";
import type { Json } from "../../../domain/words/json.ts";
import { invalid } from "../../../domain/words/refusal.ts";
import { headerText } from "../../http/header-value.ts";
import { Refused } from "../../http/refused.ts";
import type { Body } from "./prompt.ts";

const HEADER = "X-Signalbox-Metadata";
const MAX_NAME_CHARS = 64;
const MAX_VALUE_CHARS = 256;

/** The person whom the body names, in the field's older or newer name; an empty one names nobody. */
export const personOf = ({ user, safety_identifier: identifier }: Body): string | undefined =>
  [user, identifier].find((one): one is string => typeof one === "string" && one !== "");

/** The header comes first, then the user: what is above the limit is the body's. */
export const metadataOf = (body: Body, header: string | undefined): Record<string, string> => {
  const pairs = new Map(pairsOf(headerText(header ?? "")));
  const said = Object.entries(isObject(body.metadata) ? body.metadata : {});
  for (const [name, value] of [["user", personOf(body)] as const, ...said].flatMap(cutPair))
    if (!pairs.has(name) && pairs.size < MAX_METADATA_PAIRS) pairs.set(name, value);
  return Object.fromEntries(pairs);
};

/** None if nothing of it can be kept. */
const cutPair = ([name, value]: readonly [string, Json | undefined]): [string, string][] => {
  if (typeof value !== "string") return [];
  const pair = [startOf(name, MAX_NAME_CHARS), startOf(value, MAX_VALUE_CHARS)] as [string, string];
  return metadataName.safeParse(pair[0]).success && metadataValue.safeParse(pair[1]).success ? [pair] : [];
};

/** `team=search,env=prod` */
const pairsOf = (header: string): [string, string][] => {
  const pairs = header.split(",").filter((pair) => pair.trim() !== "");
  const read = pairs.map((pair): [string, string] => {
    const at = pair.indexOf("=");
    if (at < 0) throw new Refused(invalid(HEADER, 'must be pairs such as "team=search,env=prod"'));
    return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
  });
  const parsed = readAs(metadata, Object.fromEntries(read));
  if (!parsed.ok) throw new Refused(invalid(HEADER, parsed.error.detail));
  return read;
};
