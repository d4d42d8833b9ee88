import { describe, expect, test } from "vitest";
import {
  AUTHENTICATION_FAILED,
  authenticate,
  authorize,
  type KeyRecord,
  liveHashes,
  type Permission,
  ROLES,
  type Role,
  revokeKey,
  rotateKey,
} from "../../../domain/access/key.ts";
import { decided, NOON } from "../job/sample-jobs.ts";

const KEY: KeyRecord = {
  id: "k1",
  name: "laptop",
  role: "standard",
  hash: "a".repeat(64),
  createdAt: NOON,
  lastUsedAt: null,
  revokedAt: null,
  previousHash: null,
  previousUntilAt: null,
  limits: null,
  weight: 1,
  personId: null,
};
const NEW = "b".repeat(64);
const OTHER = `${"a".repeat(63)}c`;
const GRACE_MS = 60_000;

const codeOf = (key: KeyRecord | null, hash: string, nowAt = NOON): string => {
  const outcome = authenticate(key, hash, nowAt);
  return outcome.ok ? "let in" : outcome.error.code;
};

describe("a role", () => {
  const MAY: Record<Permission, Role[]> = {
    administer: ["admin"],
    operate: ["admin", "standard"],
    observe: ["admin", "standard", "viewer"],
    work: ["admin", "standard", "worker"],
    consult: ["admin", "standard", "viewer", "worker"],
    ask: ["admin", "standard", "client"],
    review: ["admin", "standard", "viewer", "client"],
    follow: ["admin", "standard", "viewer", "worker", "client"],
  };
  test.each(Object.entries(MAY))("may %s only as %j", (permission, holders) => {
    expect(ROLES.filter((role) => authorize(role, permission as Permission).ok)).toEqual(holders);
  });

  test("that is too small is told which would do", () => {
    const detail = (role: Role, permission: Permission) => authorize(role, permission);
    expect(detail("standard", "administer")).toEqual({
      ok: false,
      error: { code: "forbidden", detail: "this needs a key with role admin; yours has role standard" },
    });
    expect(detail("worker", "operate")).toMatchObject({
      error: { detail: "this needs a key with role admin or standard; yours has role worker" },
    });
    expect(detail("viewer", "work")).toMatchObject({
      error: { detail: "this needs a key with role admin or standard or worker; yours has role viewer" },
    });
    expect(detail("viewer", "ask")).toMatchObject({
      error: { detail: "this needs a key with role admin or standard or client; yours has role viewer" },
    });
  });
});

describe("a key", () => {
  const rotated = decided(rotateKey(KEY, NEW, GRACE_MS, NOON));
  const rotatedTwice = decided(rotateKey(rotated, "d".repeat(64), GRACE_MS, NOON));
  const revoked = decided(revokeKey(KEY, [KEY], NOON));

  test.each<[string, KeyRecord | null, string, number, string]>([
    ["that is unknown", null, KEY.hash, NOON, "authentication_failed"],
    ["on record", KEY, KEY.hash, NOON, "let in"],
    ["that differs in its last digit", KEY, OTHER, NOON, "authentication_failed"],
    ["that differs in its first digit", KEY, `c${"a".repeat(63)}`, NOON, "authentication_failed"],
    ["that differs in two digits alike", KEY, `bb${"a".repeat(62)}`, NOON, "authentication_failed"],
    ["that is a part of one", KEY, KEY.hash.slice(0, 63), NOON, "authentication_failed"],
    ["that begins like one", KEY, `${KEY.hash}0`, NOON, "authentication_failed"],
    ["that is empty", KEY, "", NOON, "authentication_failed"],
    ["that is revoked", revoked, KEY.hash, NOON, "key_revoked"],
    ["that never was the revoked one", revoked, OTHER, NOON, "authentication_failed"],
    ["made by a rotation", rotated, NEW, NOON, "let in"],
    ["from before a rotation, in its grace", rotated, KEY.hash, NOON + GRACE_MS - 1, "let in"],
    ["from before a rotation, its grace over", rotated, KEY.hash, NOON + GRACE_MS, "key_rotated"],
    ["made by a rotation, long after", rotated, NEW, NOON + 1_000 * GRACE_MS, "let in"],
    ["rotated with no grace, at once", decided(rotateKey(KEY, NEW, 0, NOON)), KEY.hash, NOON, "key_rotated"],
    ["from before two rotations", rotatedTwice, KEY.hash, NOON, "authentication_failed"],
    ["in its grace, revoked", decided(revokeKey(rotated, [rotated], NOON)), KEY.hash, NOON, "key_revoked"],
  ])("%s: as the contract says", (_, key, hash, nowAt, expected) => {
    expect(codeOf(key, hash, nowAt)).toBe(expected);
  });

  test("rotated to the same secret again stays as it is: the request was repeated", () => {
    expect(decided(rotateKey(rotated, NEW, 0, NOON + 1))).toBe(rotated);
  });

  test.each<[string, KeyRecord, number, string[]]>([
    ["never rotated: its own secret", KEY, NOON, [KEY.hash]],
    ["rotated: the old one in its grace, too", rotated, NOON + GRACE_MS - 1, [NEW, KEY.hash]],
    ["rotated: the new one alone once the grace is over", rotated, NOON + GRACE_MS, [NEW]],
    ["rotated with no grace: the new one alone", decided(rotateKey(KEY, NEW, 0, NOON)), NOON, [NEW]],
    ["revoked: none", decided(revokeKey(rotated, [rotated], NOON)), NOON, []],
    ["whose old secret has no end: its own alone", { ...rotated, previousUntilAt: null }, NOON, [NEW]],
    ["that has an end and no old secret: its own alone", { ...KEY, previousUntilAt: NOON + 1 }, NOON, [KEY.hash]],
  ])("opens with what it opens with, %s", (_, key, nowAt, expected) => {
    expect(liveHashes(key, nowAt)).toEqual(expected);
  });

  test("rotated with no grace has no end of one", () => {
    expect(decided(rotateKey(KEY, NEW, 0, NOON)).previousUntilAt).toBeNull();
    expect(decided(rotateKey(KEY, NEW, 1, NOON)).previousUntilAt).toBe(NOON + 1);
  });

  test("that is refused is told what to send, and no more", () => {
    expect(authenticate(null, KEY.hash, NOON)).toEqual({ ok: false, error: AUTHENTICATION_FAILED });
    expect(JSON.stringify(authenticate(KEY, OTHER, NOON))).not.toContain(KEY.hash);
  });

  test("rotated keeps its id, name and role", () => {
    expect(rotated).toEqual({ ...KEY, hash: NEW, previousHash: KEY.hash, previousUntilAt: NOON + GRACE_MS });
  });

  test("that is revoked cannot be rotated back to life", () => {
    expect(rotateKey(revoked, NEW, 0, NOON)).toEqual({ ok: false, error: { code: "key_inactive", id: "k1" } });
  });

  test("revoked twice is revoked once", () => {
    expect(decided(revokeKey(revoked, [revoked], NOON + 1_000))).toBe(revoked);
  });

  test.each<[string, Partial<KeyRecord>, Partial<KeyRecord>[], string | null]>([
    ["admin, alone", { role: "admin" }, [{ role: "standard" }], "last_admin_key"],
    ["admin, with another", { role: "admin" }, [{ role: "admin" }], null],
    ["admin, with one that is revoked", { role: "admin" }, [{ role: "admin", revokedAt: NOON }], "last_admin_key"],
    ["admin, with one of a person", { role: "admin" }, [{ role: "admin", personId: "p" }], "last_admin_key"],
    ["admin, of a person", { role: "admin", personId: "p" }, [], null],
    ["standard, alone", { role: "standard" }, [], null],
    ["worker, alone", { role: "worker" }, [], null],
  ])("of role %s: revoked, unless nobody could administer the tenant", (_, fields, others, refusal) => {
    const key = { ...KEY, ...fields };
    const keys = [key, ...others.map((other, at) => ({ ...KEY, id: `other-${at}`, ...other }))];
    const outcome = revokeKey(key, keys, NOON);
    expect(outcome.ok ? null : outcome.error.code).toBe(refusal);
    if (outcome.ok) expect(outcome.value.revokedAt).toBe(NOON);
  });
});
