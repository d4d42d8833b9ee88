// What outsiders can make grow of who may use a tenant: its keys, people and sessions (`domain/words/growth.ts`).

import type { GrowthRow } from "../../../domain/words/growth.ts";
import { MAX_USERS_A_KEY } from "../../steps/key-limits.ts";
import { KEPT_ATTEMPTS } from "../../store/access/people.ts";
import { MAX_KEY_CHARS, MAX_KEYS } from "./keys.ts";
import { MAX_PROVIDER_KEYS } from "./provider-keys.ts";
import { MAX_SESSIONS_A_KEY } from "./sessions.ts";
import { MAX_PEOPLE, MAX_SESSIONS_A_PERSON } from "./sign-in.ts";

const KEYS_TEST = "test/tenant/access/keys-bounds.workers.test.ts";
const PEOPLE_TEST = "test/tenant/access/people-bounds.workers.test.ts";

export const GROWTH: readonly GrowthRow[] = [
  {
    what: "sessions of the dashboard",
    holds: ["table sessions"],
    grownBy: "key",
    countedBy: "durable-objects/operations/access/sessions.ts",
    bound: MAX_SESSIONS_A_KEY,
    unit: "entries",
    of: "key",
    atTheBound: { drops: "the oldest session of the key: who had it signs in again" },
    freedBy: "signing out, a session's end, the end of its key",
    provenBy: ["test/tenant/access/session.workers.test.ts", "ends the oldest of a hundred"],
  },
  {
    what: "people who have signed in, each with one grant of a key at a time",
    holds: ["table people", "table key_grants"],
    grownBy: "person",
    countedBy: "durable-objects/operations/access/sign-in.ts",
    bound: MAX_PEOPLE,
    unit: "entries",
    of: "tenant",
    atTheBound: { refuses: "forbidden" },
    freedBy: "nothing: a person stays, so that the audit has a name",
    provenBy: [PEOPLE_TEST, "has 5 000 people and no more"],
  },
  {
    what: "people's sessions",
    holds: ["table person_sessions"],
    grownBy: "person",
    countedBy: "durable-objects/operations/access/sign-in.ts",
    bound: MAX_SESSIONS_A_PERSON,
    unit: "entries",
    of: "person",
    atTheBound: { drops: "the session that ends first: who had it signs in again" },
    freedBy: "signing out, a session's end, blocking the person",
    provenBy: [PEOPLE_TEST, "has 20 sessions; one more ends another"],
  },
  {
    what: "attempts to sign in",
    holds: ["table sign_in_attempts"],
    grownBy: "person",
    countedBy: "durable-objects/store/access/people.ts",
    bound: KEPT_ATTEMPTS,
    unit: "entries",
    of: "tenant",
    atTheBound: { drops: "the oldest attempt" },
    freedBy: "newer attempts",
    provenBy: [PEOPLE_TEST, "keeps the last 50 attempts"],
  },
  {
    what: "keys, the revoked ones included",
    holds: ["table keys"],
    grownBy: "key",
    countedBy: "durable-objects/operations/access/keys.ts",
    bound: MAX_KEYS,
    unit: "entries",
    of: "tenant",
    atTheBound: { refuses: "too_many_keys" },
    freedBy: "revoking: the keys that were revoked first make room",
    provenBy: [KEYS_TEST, "has 10,000 keys and no more"],
  },
  {
    what: "keys with their names and limits",
    holds: ["table keys"],
    grownBy: "key",
    countedBy: "durable-objects/operations/access/keys.ts",
    bound: MAX_KEY_CHARS,
    unit: "characters",
    of: "tenant",
    atTheBound: { refuses: "too_many_keys" },
    freedBy: "revoking, or shorter limits",
    provenBy: [KEYS_TEST, "8 MiB of names and limits"],
  },
  {
    what: "provider keys",
    holds: ["table provider_keys"],
    grownBy: "key",
    countedBy: "durable-objects/operations/access/provider-keys.ts",
    bound: MAX_PROVIDER_KEYS,
    unit: "entries",
    of: "tenant",
    atTheBound: { refuses: "invalid_request" },
    freedBy: "DELETE of one",
    provenBy: ["test/runner/edge-workers.test.ts", "has a bound on its provider keys"],
  },
  {
    what: "people of a key with limits who have a count this minute",
    holds: ["table key_windows", "table key_open_jobs", "memory.openByKey"],
    grownBy: "request",
    countedBy: "durable-objects/steps/key-limits.ts",
    bound: MAX_USERS_A_KEY,
    unit: "entries",
    of: "key",
    atTheBound: { refuses: "rate_limit_exceeded" },
    freedBy: "the minute of a person is over; the last open job of a person ends",
    provenBy: ["test/tenant/access/key-limits.workers.test.ts", "has a count for 10,000 people a minute and no more"],
  },
];
