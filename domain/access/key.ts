// A tenant's keys: roles, what each role may do, and when a key ends.

import type { Refusal } from "../words/refusal.ts";
import { err, ok, type Result } from "../words/result.ts";
import type { KeyLimits } from "./key-limits.ts";

export const ROLES = ["admin", "standard", "viewer", "worker", "client"] as const;
export type Role = (typeof ROLES)[number];

export const USUAL_WEIGHT = 1;

export interface KeyRecord {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  /** SHA-256 of the whole key, hex. */
  readonly hash: string;
  readonly createdAt: number;
  readonly lastUsedAt: number | null;
  readonly revokedAt: number | null;
  /** After a rotation: the previous hash, valid until `previousUntilAt`. */
  readonly previousHash: string | null;
  readonly previousUntilAt: number | null;
  /** null: no limits. */
  readonly limits: KeyLimits | null;
  /** How much of what is served its flows get, compared with those of other keys. */
  readonly weight: number;
  /** The person who made it and whose role bounds it; null: a key of the tenant. */
  readonly personId: string | null;
}

/** Each row lists the roles that have a permission. */
const HOLDERS = {
  /** catalog, keys, config writes, audit */
  administer: ["admin"],
  /** changing jobs, schedules, workers and the killswitch */
  operate: ["admin", "standard"],
  /** reading all of these, cost, metrics and the live view */
  observe: ["admin", "standard", "viewer"],
  /** presence and the worker protocol */
  work: ["admin", "standard", "worker"],
  /** reading config and presence; dashboard sessions; MCP, whose tools check again */
  consult: ["admin", "standard", "viewer", "worker"],
  /** the front door, and cancelling a client's own jobs */
  ask: ["admin", "standard", "client"],
  /** reading batches, for clients only their own */
  review: ["admin", "standard", "viewer", "client"],
  /** reading a job and its stream, for workers and clients only their own */
  follow: ["admin", "standard", "viewer", "worker", "client"],
} as const satisfies Record<string, readonly Role[]>;

export type Permission = keyof typeof HOLDERS;

/** The roles that have a permission, the smallest first. */
export const rolesWith = (permission: Permission): readonly Role[] => [...HOLDERS[permission]].reverse();

export const authorize = (role: Role, needed: Permission): Result<Role, Refusal> => {
  const holders: readonly Role[] = HOLDERS[needed];
  if (holders.includes(role)) return ok(role);
  const detail = `this needs a key with role ${holders.join(" or ")}; yours has role ${role}`;
  return err({ code: "forbidden", detail });
};

/** Compares two digests of equal length in constant time. */
export const isSameDigest = (left: string, right: string): boolean => {
  if (left.length !== right.length) return false;
  let difference = 0;
  for (let at = 0; at < left.length; at += 1) difference |= left.charCodeAt(at) ^ right.charCodeAt(at);
  return difference === 0;
};

export const AUTHENTICATION_FAILED: Refusal = {
  code: "authentication_failed",
  detail: "no valid key: send `Authorization: Bearer <key>` with a key of this service",
};

/** Whether a presented key (by its hash) matches the record and is active. */
export const authenticate = (key: KeyRecord | null, hash: string, nowAt: number): Result<KeyRecord, Refusal> => {
  if (key === null) return err(AUTHENTICATION_FAILED);
  const isCurrent = isSameDigest(key.hash, hash);
  const isPrevious = key.previousHash !== null && isSameDigest(key.previousHash, hash);
  if (!isCurrent && !isPrevious) return err(AUTHENTICATION_FAILED);
  if (key.revokedAt !== null) return err({ code: "key_revoked" });
  if (isCurrent) return ok(key);
  return isPreviousLive(key, nowAt) ? ok(key) : err({ code: "key_rotated" });
};

/** Digests of the secrets that are still valid; whatever was opened with another one has ended. */
export const liveHashes = (key: KeyRecord, nowAt: number): string[] => {
  if (key.revokedAt !== null) return [];
  return key.previousHash !== null && isPreviousLive(key, nowAt) ? [key.hash, key.previousHash] : [key.hash];
};

const isPreviousLive = ({ previousUntilAt }: KeyRecord, nowAt: number): boolean => nowAt < (previousUntilAt ?? 0);

/** Rotating to the same digest is a repeated request and changes nothing. */
export const rotateKey = (key: KeyRecord, hash: string, graceMs: number, nowAt: number): Result<KeyRecord, Refusal> => {
  if (key.revokedAt !== null) return err({ code: "key_inactive", id: key.id });
  if (key.hash === hash) return ok(key);
  return ok({ ...key, hash, previousHash: key.hash, previousUntilAt: graceMs === 0 ? null : nowAt + graceMs });
};

/** A personal key ends with its person: it is nobody's last resort. */
const isLastResort = ({ role, revokedAt, personId }: KeyRecord): boolean =>
  role === "admin" && revokedAt === null && personId === null;

/** The last admin key stays: `keys` have another, if there is one. */
export const revokeKey = (key: KeyRecord, keys: readonly KeyRecord[], nowAt: number): Result<KeyRecord, Refusal> => {
  if (key.revokedAt !== null) return ok(key);
  if (isLastResort(key) && !keys.some((one) => one.id !== key.id && isLastResort(one)))
    return err({ code: "last_admin_key", id: key.id });
  return ok({ ...key, revokedAt: nowAt });
};
