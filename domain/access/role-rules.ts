// Which role a person has: rules over the claims of the identity provider. The first rule that fits decides; without
// one the person has no role. Claims are hostile text: only own properties are read, and no regular expression runs.

import { hasFields, type Json } from "../words/json.ts";
import { starPattern } from "../words/star-pattern.ts";
import type { Role } from "./key.ts";

export const PERSON_ROLES = ["admin", "standard", "viewer"] as const satisfies readonly Role[];
export type PersonRole = (typeof PERSON_ROLES)[number];

export type Claims = { readonly [name: string]: Json };

/** What a rule asks of its claim; exactly one of `has`, `equals` and `matches` is given. */
export interface RoleRule {
  /** A claim's name, or its path with dots. */
  readonly claim: string;
  /** The claim is a list with this entry, or this text. */
  readonly has?: string | undefined;
  readonly equals?: string | number | boolean | undefined;
  /** A text, or an entry of a list, fits this pattern; `*` stands for any characters. */
  readonly matches?: string | undefined;
  readonly role: PersonRole;
}

const EMAIL = "email";

const ownOf = (value: Json | undefined, name: string): Json | undefined => {
  if (!hasFields(value)) return undefined;
  return Object.hasOwn(value, name) ? value[name] : undefined;
};

const isWithin = (value: Json, levels: number): boolean =>
  typeof value !== "object" ||
  value === null ||
  (levels > 0 && Object.values(value).every((inner) => isWithin(inner, levels - 1)));

/** Without those that nest deeper than so many levels. */
export const claimsWithin = (claims: Claims, levels: number): Claims =>
  Object.fromEntries(Object.entries(claims).filter(([, value]) => isWithin(value, levels)));

/** The claim of exactly this name, else the one at this path. */
export const claimOf = (claims: Claims, claim: string): Json | undefined => {
  const exact = ownOf(claims, claim);
  if (exact !== undefined) return exact;
  let found: Json | undefined = claims;
  for (const name of claim.split(".")) found = ownOf(found, name);
  return found;
};

/** Providers return an address as somebody typed it. Only ASCII: another letter may become one of these in lower case. */
const inOneCase = <T extends Json>(value: T): T =>
  (typeof value === "string" ? value.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase()) : value) as T;

/** Many providers do not say it; some write it as text. */
const isEmailUnverified = (claims: Claims): boolean => {
  const verified = ownOf(claims, "email_verified") ?? true;
  return verified !== true && (typeof verified !== "string" || verified.toLowerCase() !== "true");
};

/**
 * A rule looks at no more of a claim: the identity provider of any tenant is compared, on the thread that all tenants
 * share, with each rule.
 */
export const LOOKED_AT = { entries: 1_000, chars: 65_536 };

/** The texts of a claim, within bounds. */
const entriesOf = (claim: Json): string[] => {
  const entries: string[] = [];
  let chars = 0;
  for (const entry of Array.isArray(claim) ? claim.slice(0, LOOKED_AT.entries) : [claim]) {
    if (typeof entry !== "string") continue;
    chars += entry.length;
    if (chars > LOOKED_AT.chars) break;
    entries.push(entry);
  }
  return entries;
};

export const fits = (rule: RoleRule, claims: Claims): boolean => {
  if (rule.claim === EMAIL && isEmailUnverified(claims)) return false;
  const found = claimOf(claims, rule.claim);
  if (found === undefined || found === null) return false;
  const as = rule.claim === EMAIL ? inOneCase : <T>(value: T): T => value;
  const { has, equals, matches } = rule;
  if (equals !== undefined) return as(found) === as(equals);
  const entries = entriesOf(found).map(as);
  if (has !== undefined) return entries.includes(as(has));
  return matches !== undefined && entries.some(starPattern(as(matches)));
};

/** The first rule that fits, which decides the role; null if none does. */
export const ruleFor = (rules: readonly RoleRule[], claims: Claims): RoleRule | null =>
  rules.find((rule) => fits(rule, claims)) ?? null;

/** An address that the provider has not verified names nobody. */
export const emailOf = (claims: Claims): string | null => {
  const email = ownOf(claims, EMAIL);
  return typeof email === "string" && email !== "" && !isEmailUnverified(claims) ? cleanName(email) : null;
};

const MAX_NAME_CHARS = 200;
const NAMES = ["name", "preferred_username"] as const;

/** What to call the person. */
export const nameOf = (claims: Claims, subject: string): string => {
  for (const claim of NAMES) {
    const name = ownOf(claims, claim);
    if (typeof name === "string" && name.trim() !== "") return cleanName(name);
  }
  return emailOf(claims) ?? cleanName(subject);
};

/** What turns the direction of writing would also turn the words behind the name. */
const cleanName = (name: string): string =>
  name
    .replaceAll(/[\p{Cc}\u202a-\u202e\u2066-\u2069<>]/gu, " ")
    .trim()
    .slice(0, MAX_NAME_CHARS);

const MAX_SHOWN_CHARS = 200;
const MAX_SHOWN_ENTRIES = 100;
/** Of all claims of one sign-in: fifty are kept, and answered at once. */
const MAX_SHOWN_CHARS_IN_ALL = 16_384;
const NOT_SHOWN = "(not shown: too long)";
/** Shown besides those of rules: they say who it was. */
const ALWAYS_SHOWN = ["email", "email_verified", "name"];

const shown = (value: Json): Json => {
  if (Array.isArray(value)) return value.slice(0, MAX_SHOWN_ENTRIES).map((entry) => shownText(entry));
  return shownText(value);
};

const shownText = (value: Json): Json => {
  if (typeof value === "string") return value.slice(0, MAX_SHOWN_CHARS);
  if (typeof value === "object" && value !== null) return JSON.stringify(value).slice(0, MAX_SHOWN_CHARS);
  return value;
};

/** The claims that rules look at, in bounds; null for those that the provider did not give. */
export const shownClaims = (rules: readonly RoleRule[], claims: Claims): Record<string, Json> => {
  const names = new Set([...ALWAYS_SHOWN, ...rules.map(({ claim }) => claim)]);
  let left = MAX_SHOWN_CHARS_IN_ALL;
  const shownOrNot = (name: string): Json => {
    const value = shown(claimOf(claims, name) ?? null);
    const chars = JSON.stringify(value).length;
    if (chars > left) return NOT_SHOWN;
    left -= chars;
    return value;
  };
  return Object.fromEntries([...names].map((name) => [name, shownOrNot(name)]));
};
