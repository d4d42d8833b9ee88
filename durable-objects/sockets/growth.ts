// What workers and viewers can make grow by their sockets (`domain/words/growth.ts`).

import { closeCodes } from "../../contract/words/values.ts";
import type { GrowthRow } from "../../domain/words/growth.ts";
import { MAX_BEHIND } from "./live.ts";
import { MAX_CHARS_UNDER_WAY, MAX_MESSAGES } from "./messages-under-way.ts";
import { MAX_SOCKETS } from "./sockets.ts";

export const GROWTH: readonly GrowthRow[] = [
  {
    what: "sockets of workers and viewers",
    holds: [
      "durable-objects/sockets/sockets.ts#workers",
      "durable-objects/sockets/sockets.ts#outgoing",
      "durable-objects/sockets/line-sockets.ts#tagged",
      "durable-objects/sockets/line-sockets.ts#sockets",
      "self-host/edge/client-sockets.ts#seats",
      "self-host/edge/client-sockets.ts#pinged",
      "self-host/edge/client-sockets.ts#paused",
    ],
    grownBy: "worker",
    countedBy: "durable-objects/sockets/sockets.ts",
    bound: MAX_SOCKETS,
    unit: "entries",
    of: "tenant",
    atTheBound: { refuses: "overloaded" },
    freedBy: "a socket closes",
    provenBy: ["test/tenant/sockets/telling.test.ts", "has 32,000 sockets at most"],
  },
  {
    what: "a socket's messages that are not answered yet",
    holds: ["durable-objects/sockets/messages-under-way.ts#counts"],
    grownBy: "worker",
    countedBy: "durable-objects/sockets/messages-under-way.ts",
    bound: MAX_MESSAGES,
    unit: "entries",
    of: "socket",
    atTheBound: { closes: closeCodes.tooManyMessages },
    freedBy: "their answers",
    provenBy: ["test/tenant/sockets/worker-socket.workers.test.ts", "where more of its messages are under way"],
  },
  {
    what: "characters of a socket's messages that are not answered yet",
    holds: ["durable-objects/sockets/messages-under-way.ts#counts"],
    grownBy: "worker",
    countedBy: "durable-objects/sockets/messages-under-way.ts",
    bound: MAX_CHARS_UNDER_WAY,
    unit: "characters",
    of: "socket",
    atTheBound: { closes: closeCodes.tooManyMessages },
    freedBy: "their answers",
    provenBy: ["test/tenant/memory-bounds.test.ts", "has 16 MiB of messages under way"],
  },
  {
    what: "changes that viewers have not been sent",
    holds: [
      "durable-objects/sockets/live.ts#changes",
      "durable-objects/sockets/live.ts#newcomers",
      "durable-objects/sockets/live.ts#lastSent",
    ],
    grownBy: "key",
    countedBy: "durable-objects/sockets/live.ts",
    bound: MAX_BEHIND,
    unit: "entries",
    of: "tenant",
    atTheBound: { drops: "all of them: viewers get a snapshot" },
    freedBy: "the next frame",
    provenBy: ["test/simulation/scenes/live-view.ts", "five thousand changes behind begins again"],
  },
];
