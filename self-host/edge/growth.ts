// What clients can make grow in the process of the edge in Node, beside what `src/growth.ts` says (`domain/words/growth.ts`).

import type { GrowthRow } from "../../domain/words/growth.ts";
import { BOUNDS } from "../../src/http/shares.ts";
import { MAX_BEHIND_BYTES } from "./client-sockets.ts";
import { MAX_UNREAD_BYTES } from "./client-upgrade.ts";
import { MAX_LINES } from "./object-lines.ts";
import { LINE_BYTES_A_SECOND } from "./pace.ts";
import { MAX_UNREAD_BYTES_OF_ALL } from "./unread.ts";

export const GROWTH: readonly GrowthRow[] = [
  {
    what: "what a client leaves unread of its socket",
    holds: ["self-host/edge/client-upgrade.ts#upgraded"],
    grownBy: "reader",
    countedBy: "self-host/edge/client-upgrade.ts",
    bound: MAX_UNREAD_BYTES,
    unit: "bytes",
    of: "socket",
    atTheBound: { drops: "the socket: its client connects again" },
    freedBy: "reading",
    provenBy: ["test/self-host/edge/client-upgrade.test.ts", "leaves too much unread is cut off"],
  },
  {
    what: "what all clients leave unread of their answers and sockets",
    holds: ["self-host/edge/http-server.ts#connections"],
    grownBy: "reader",
    countedBy: "self-host/edge/unread.ts",
    bound: MAX_UNREAD_BYTES_OF_ALL,
    unit: "bytes",
    of: "process",
    atTheBound: { drops: "the connections furthest behind" },
    freedBy: "reading",
    provenBy: ["test/self-host/edge/edge-server.test.ts", "cuts off clients that read nothing"],
  },
  {
    what: "messages of sockets that their object has not read",
    holds: ["self-host/edge/client-sockets.ts#group"],
    grownBy: "worker",
    countedBy: "self-host/edge/client-sockets.ts",
    bound: MAX_BEHIND_BYTES,
    unit: "bytes",
    of: "tenant",
    atTheBound: { waits: "for the object: its clients are not read" },
    freedBy: "the object reads",
    provenBy: ["test/self-host/edge/client-sockets.test.ts", "is not read further while the object is far behind"],
  },
  {
    what: "what a tenant's data lines send in a second",
    holds: ["self-host/edge/pace.ts#open"],
    grownBy: "worker",
    countedBy: "self-host/edge/pace.ts",
    bound: LINE_BYTES_A_SECOND,
    unit: "bytes",
    of: "tenant",
    atTheBound: { waits: "for its share of the next second" },
    freedBy: "time; the last line closes",
    provenBy: ["test/self-host/edge/pace.test.ts", "share one bucket over all lines of the tenant"],
  },
  {
    what: "lines to objects without a call",
    holds: ["self-host/edge/object-lines.ts#lines"],
    grownBy: "key",
    countedBy: "self-host/edge/object-lines.ts",
    bound: MAX_LINES,
    unit: "entries",
    of: "process",
    atTheBound: { drops: "the one that was not used for longest" },
    freedBy: "ten seconds without a call",
    provenBy: ["test/self-host/edge/object-line.test.ts", "that was not used for longest makes room"],
  },
  {
    what: "calls that wait for their tenant's turn, or for an answer of its object",
    holds: [
      "self-host/edge/fair-turns.ts#queues",
      "self-host/edge/call-group.ts#waiting",
      "self-host/edge/call-group.ts#vital",
      "self-host/edge/object-line.ts#asked",
      "self-host/edge/object-namespace.ts#groups",
      "self-host/edge/text-connections.ts#connections",
      "self-host/edge/text-connections.ts#idle",
    ],
    grownBy: "request",
    countedBy: "src/http/shares.ts",
    bound: BOUNDS.usual.process.requests,
    unit: "entries",
    of: "process",
    atTheBound: { refuses: "overloaded" },
    freedBy: "their answers, after ten seconds at most for a turn",
    provenBy: ["test/http/shares.test.ts", "is refused where the whole process is in use"],
  },
];
