// What an outsider can make grow at the edge (`domain/words/growth.ts`). The worst case of the edge's process in Node
// follows from it: 512 MiB of bodies (128 of reports and the killswitch, 64 + 64 of calls, 256 of large requests), and
// 130 MiB more for the one body that is being parsed; on Cloudflare 68 MiB of bodies an isolate.

import { LONGEST_HELD_BYTES } from "../contract/text/whole-events.ts";
import { MAX_BODY_BYTES } from "../contract/words/field.ts";
import { MAX_JSON_DEPTH, MAX_JSON_LISTS, MAX_JSON_VALUES, MAX_JSON_WORDS } from "../contract/words/json-bounds.ts";
import { EDGE_PLACES } from "../domain/fleet/worker.ts";
import type { GrowthRow } from "../domain/words/growth.ts";
import { BODY_SLOTS } from "../durable-objects/object-name.ts";
import { MAX_DOOR_BODY_BYTES } from "./front-door/request/body.ts";
import { PARTS_AN_ANSWER } from "./history/archive/read.ts";
import { CHARS_A_PART } from "./history/archive/write.ts";
import type { Lane } from "./home.ts";
import { MAX_ADDRESSES } from "./http/admission.ts";
import { MAX_CHECKED_TOKENS } from "./http/auth.ts";
import { FREE_BODY_BYTES } from "./http/free-body.ts";
import { BOUNDS } from "./http/shares.ts";
import { MAX_HELD_BYTES } from "./runner/provider-way.ts";

const OF = { key: "key", tenant: "tenant", stranger: "address", isolate: "process", process: "process" } as const;

const HELD = ["src/http/shares.ts#held", "src/http/shares.ts#tickets"];

const shareRows = (lane: Lane, kind: keyof typeof OF): GrowthRow[] => {
  const { requests, bytes } = BOUNDS[lane][kind];
  const base = {
    holds:
      lane === "waiting"
        ? [
            ...HELD,
            "durable-objects/waits/waiters.ts#byKey",
            "durable-objects/waits/waiters.ts#callers",
            "durable-objects/history/pace.ts#waiting",
          ]
        : HELD,
    grownBy: kind === "key" || kind === "tenant" ? "key" : "request",
    countedBy: "src/http/admission.ts",
    of: OF[kind],
    atTheBound: { refuses: OF[kind] === "process" ? "overloaded" : "rate_limited" },
  } as const;
  const name = kind === "stranger" ? "address without a key" : kind;
  return [
    {
      ...base,
      what: `requests under way of one ${name}, lane ${lane}`,
      bound: requests,
      unit: "entries",
      freedBy: "the end of the answer, streams included",
      provenBy: ["test/http/shares.test.ts", "is bounded by its requests"],
    },
    {
      ...base,
      what: `bytes of bodies under way of one ${name}, lane ${lane}`,
      bound: bytes,
      unit: "bytes",
      freedBy: "the end of the answer; of a stored body, when it is stored",
      provenBy: ["test/http/shares.test.ts", "is bounded by the bytes of its bodies"],
    },
  ];
};

const LANES = Object.keys(BOUNDS) as Lane[];
const KINDS = Object.keys(OF) as (keyof typeof OF)[];

export const GROWTH: readonly GrowthRow[] = [
  ...LANES.flatMap((lane) => KINDS.flatMap((kind) => shareRows(lane, kind))),
  {
    what: "readers of one job with one key",
    holds: HELD,
    grownBy: "reader",
    countedBy: "src/http/admission.ts",
    bound: BOUNDS.waiting.job.requests,
    unit: "entries",
    of: "job",
    atTheBound: { refuses: "too_many_readers" },
    freedBy: "a reader that leaves; the end of the job",
    provenBy: ["test/http/admission.test.ts", "of one job are sixteen with one key"],
  },
  {
    what: "the beginning of an event whose end has not come from its relay",
    holds: ["contract/text/whole-events.ts#held"],
    grownBy: "worker",
    countedBy: "contract/text/whole-events.ts",
    bound: LONGEST_HELD_BYTES,
    unit: "bytes",
    of: "stream",
    atTheBound: { waits: "for nothing: it passes as it comes" },
    freedBy: "the event's end",
    provenBy: ["test/contract/whole-events.test.ts", "holds no more than an event may have"],
  },
  {
    what: "a request's body",
    holds: ["src/http/body.ts#chunks"],
    grownBy: "request",
    countedBy: "src/http/body.ts",
    bound: MAX_BODY_BYTES,
    unit: "bytes",
    of: "message",
    atTheBound: { refuses: "payload_too_large" },
    freedBy: "the request's call to its tenant",
    provenBy: ["test/http/conventions.workers.test.ts", "may be as large as the contract says, and no larger"],
  },
  {
    what: "a front-door body",
    holds: ["src/front-door/request/body.ts#chunks"],
    grownBy: "request",
    countedBy: "src/http/body.ts",
    bound: MAX_DOOR_BODY_BYTES,
    unit: "bytes",
    of: "message",
    atTheBound: { refuses: "payload_too_large" },
    freedBy: "its storing outside the tenant, or the request's end",
    provenBy: ["test/front-door/large-bodies.workers.test.ts", "reaches its worker as it was sent"],
  },
  {
    what: "bytes of a body that are read of a key that the tenant was not asked about",
    holds: ["src/http/body.ts#chunks"],
    grownBy: "request",
    countedBy: "src/http/body.ts",
    bound: FREE_BODY_BYTES,
    unit: "bytes",
    of: "message",
    atTheBound: { waits: "for the tenant's object to admit the key" },
    freedBy: "the refusal, or the request's call",
    provenBy: ["test/front-door/large-bodies.workers.test.ts", "hears that it was revoked"],
  },
  {
    what: "values of a JSON body",
    holds: ["src/http/body.ts#parseJsonBody", "src/front-door/request/json-outline.ts#tally"],
    grownBy: "request",
    countedBy: "contract/words/json-bounds.ts",
    bound: MAX_JSON_VALUES,
    unit: "entries",
    of: "message",
    atTheBound: { refuses: "invalid_request" },
    freedBy: "the request's call to its tenant",
    provenBy: ["test/front-door/large-bodies.workers.test.ts", "more values than a body may have"],
  },
  {
    what: "lists and objects of a JSON body",
    holds: ["src/http/body.ts#parseJsonBody", "src/front-door/request/json-outline.ts#tally"],
    grownBy: "request",
    countedBy: "contract/words/json-bounds.ts",
    bound: MAX_JSON_LISTS,
    unit: "entries",
    of: "message",
    atTheBound: { refuses: "invalid_request" },
    freedBy: "the request's call to its tenant",
    provenBy: ["test/contract/json-bounds.test.ts", "more lists and objects"],
  },
  {
    what: "different names and short texts of a JSON body, which the process keeps until it collects its garbage",
    holds: ["src/http/body.ts#parseJsonBody", "src/front-door/request/json-outline.ts#tally"],
    grownBy: "request",
    countedBy: "contract/words/json-bounds.ts",
    bound: MAX_JSON_WORDS,
    unit: "entries",
    of: "message",
    atTheBound: { refuses: "invalid_request" },
    freedBy: "the next collection of garbage",
    provenBy: ["test/contract/json-bounds.test.ts", "more different short texts"],
  },
  {
    what: "levels of a JSON body",
    holds: ["src/http/body.ts#parseJsonBody"],
    grownBy: "request",
    countedBy: "contract/words/json-bounds.ts",
    bound: MAX_JSON_DEPTH,
    unit: "entries",
    of: "message",
    atTheBound: { refuses: "invalid_request" },
    freedBy: "the request's end",
    provenBy: ["test/front-door/json-outline.test.ts", "that is too deep"],
  },
  {
    what: "objects (files, on a server) of stored bodies over 1 MiB",
    holds: ["folder objects/signalbox-Relay"],
    grownBy: "request",
    countedBy: "durable-objects/object-name.ts",
    bound: BODY_SLOTS,
    unit: "entries",
    of: "tenant",
    atTheBound: { waits: "for nothing: further bodies share the same objects" },
    freedBy: "the end of each job, of the tenant, or a day, for the bodies in them",
    provenBy: ["test/front-door/large-bodies.workers.test.ts", "goes into one of a few objects of its tenant"],
  },
  {
    what: "parts of the archive that a list reads for one answer",
    holds: ["src/history/archive/read.ts#versions"],
    grownBy: "key",
    countedBy: "src/history/archive/read.ts",
    bound: PARTS_AN_ANSWER,
    unit: "entries",
    of: "message",
    atTheBound: { drops: "nothing: the answer's cursor goes on" },
    freedBy: "the answer",
    provenBy: ["test/tenant/archive.workers.test.ts", "reads a bounded number of parts"],
  },
  {
    what: "texts of one part of the archive",
    holds: ["folder archive"],
    grownBy: "key",
    countedBy: "src/history/archive/write.ts",
    bound: CHARS_A_PART,
    unit: "characters",
    of: "message",
    atTheBound: { drops: "nothing: the next jobs are another part" },
    freedBy: "the next part",
    provenBy: ["test/tenant/archive.workers.test.ts", "divides large jobs among parts"],
  },
  {
    what: "keys whose tags were checked",
    holds: ["src/http/auth.ts#checkedTokens"],
    grownBy: "key",
    countedBy: "src/http/auth.ts",
    bound: MAX_CHECKED_TOKENS,
    unit: "entries",
    of: "process",
    atTheBound: { drops: "all of them: a tag is checked again" },
    freedBy: "the bound",
    provenBy: ["test/http/checked-keys.test.ts", "a thousand keys are remembered as checked, and no more"],
  },
  {
    what: "addresses that were refused",
    holds: ["src/http/admission.ts#refusals"],
    grownBy: "request",
    countedBy: "src/http/admission.ts",
    bound: MAX_ADDRESSES,
    unit: "entries",
    of: "process",
    atTheBound: { drops: "all of them: each address has its first refusals again" },
    freedBy: "the bound",
    provenBy: ["test/http/slow-down.test.ts", "ten thousand addresses are known at a time"],
  },
  {
    what: "what a hosted provider has said in one call",
    holds: ["worker/calls/stream-reader.ts#assembly"],
    grownBy: "provider",
    countedBy: "worker/calls/stream-reader.ts",
    bound: MAX_HELD_BYTES,
    unit: "characters",
    of: "job",
    atTheBound: { drops: "the call: it fails with result_too_large, and the connection is closed" },
    freedBy: "the end of the call",
    provenBy: ["test/runner/bad-providers.test.ts", "never ends is stopped, and holds up nothing"],
  },
  {
    what: "calls of an object to a hosted provider",
    holds: ["src/runner/runner.ts#calls"],
    grownBy: "key",
    countedBy: "durable-objects/operations/fleet/edge-workers.ts",
    bound: EDGE_PLACES,
    unit: "entries",
    of: "worker",
    atTheBound: { waits: "for a place, as at any worker" },
    freedBy: "their ends",
    provenBy: ["test/runner/edge-workers.test.ts", "has one for each 32 places"],
  },
];
