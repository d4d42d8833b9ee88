// Runs that once failed, shrunk: each found a defect, in the service or planted. They run before the random ones.

import { Create, Repeat, type Shape } from "./client-steps.ts";
import { Configure, Hold, LIMITING, Throw } from "./operator-steps.ts";
import { Crash, Pass, Sleep } from "./platform-steps.ts";
import type { Step } from "./step.ts";
import { Connect, Present, Report } from "./worker-steps.ts";

export interface Regression {
  readonly found: string;
  readonly steps: readonly Step[];
}

const ANY: Shape = { provider: null, tags: [], isLater: false, maxAttempts: null };
const create = (operation: "create" | "dispatch" = "create", isKeyed = false) =>
  new Create(operation, ANY, false, isKeyed);

export const REGRESSIONS: readonly Regression[] = [
  {
    found: "after a lost alarm nobody armed for the outbox",
    steps: [new Configure("defaults"), new Pass(12, "lost")],
  },
  {
    found: "over a socket, a report on a job that had left for history was not found",
    steps: [
      create(),
      new Report("fail", 0, "current", 1),
      new Connect("w1"),
      new Pass(12, "by the platform"),
      new Report("start", 0, "ended", 1),
      new Report("fail", 0, "ended", 2),
    ],
  },
  {
    found: "planted: a completion is taken under any lease",
    steps: [create(), new Report("complete", 0, "stale", 1)],
  },
  {
    found: "planted: the killswitch is in memory alone",
    steps: [new Throw(3), new Sleep(true), create()],
  },
  {
    found: "planted: a pause is in memory alone",
    steps: [new Hold("w1", true), new Sleep(true), create()],
  },
  {
    found: "planted: the back-off of a provider is in memory alone",
    steps: [
      new Configure(LIMITING),
      create(),
      new Report("rate-limit", 0, "current", 1),
      new Sleep(false),
      create("dispatch"),
    ],
  },
  {
    found: "planted: answers to idempotency keys are not kept",
    steps: [create("create", true), new Crash(), new Repeat(0, false)],
  },
  {
    found: "planted: a worker whose socket died with the object is given jobs",
    steps: [new Connect("w1"), new Crash(), create("dispatch")],
  },
  {
    found: "planted: who connects is not looked at for what waits",
    steps: [create(), new Pass(950, "by the platform"), new Connect("w1")],
  },
  {
    found: "planted: the object does not know whose sockets stayed open while it slept",
    steps: [new Connect("w1"), new Sleep(true), create("dispatch"), new Report("start", 0, "current", 1)],
  },
  {
    found: "planted: the alarm does not arm the next",
    steps: [
      create(),
      new Pass(35, "by hand"),
      new Present({ instance: "w2", provider: "q", tags: [], concurrency: 1 }, "nothing said", false),
    ],
  },
];
