// The tenant compared with a small model of it, on the real platform: random commands, with sleep, crashes and alarms
// in between, checked after each. MODEL_RUNS and MODEL_SEED choose how many and which; fast-check shrinks failures.

import { env } from "cloudflare:workers";
import fc from "fast-check";
import { describe, it } from "vitest";
import { calm, STRANGE_TAG } from "./calm.ts";
import { Create, Repeat, Tell } from "./client-steps.ts";
import { Model } from "./model.ts";
import { Clear, CONFIGS, Configure, Hold, LIMITING, Throw } from "./operator-steps.ts";
import { Crash, Pass, ReadHistory, Ring, Sleep } from "./platform-steps.ts";
import { REGRESSIONS } from "./regressions.ts";
import { System } from "./system.ts";
import { Claim, Connect, HangUp, Present, Report } from "./worker-steps.ts";

const SEED = Number(env.MODEL_SEED || 20261121);
const RUNS = Number(env.MODEL_RUNS || 30);
const MAX_STEPS = 80;
const TIMEOUT_MS = 600_000;

const which = fc.nat({ max: 9 });
const instance = fc.constantFrom("w1", "w2", "w3");
const shape = fc.record({
  provider: fc.constantFrom(null, null, "p", "q"),
  tags: fc.constantFrom([], [], [], ["a"], ["a"], ["b", "a"], [STRANGE_TAG]),
  isLater: fc.nat({ max: 9 }).map((chance) => chance === 9),
  maxAttempts: fc.constantFrom(null, null, null, 1),
});
const offer = fc.record({
  instance,
  provider: fc.constantFrom("p", "q"),
  tags: fc.constantFrom(["a", "b"], ["a", "b"], ["a"], []),
  concurrency: fc.constantFrom(2, 2, 1, 1, 3, 3, 0),
});
const named = fc.constantFrom("nothing said", "nothing said", "all it runs", "none", "all and one more" as const);
const verb = fc.constantFrom(
  "start",
  "start",
  "complete",
  "heartbeat",
  "progress",
  "fail",
  "rate-limit",
  "rate-limit",
  "release" as const,
);
const lease = fc.constantFrom("current", "current", "current", "current", "ended", "stale", "future" as const);
const seconds = fc.constantFrom(12, 35, 50, 70, 130, 950);
const alarm = fc.constantFrom("by the platform", "by the platform", "by hand", "late", "lost" as const);

const operation = fc.constantFrom("create", "dispatch" as const);
const create = fc.tuple(operation, shape, fc.boolean(), fc.boolean()).map((given) => new Create(...given));
const present = fc.tuple(offer, named, fc.boolean()).map((given) => new Present(...given));
const report = fc.tuple(verb, which, lease, fc.constantFrom(1, 1, 2)).map((given) => new Report(...given));
const claim = fc.tuple(instance, fc.constantFrom(1, 2)).map((given) => new Claim(...given));
const tell = fc.tuple(fc.constantFrom("cancel", "retry", "patch" as const), which).map((given) => new Tell(...given));
const pass = fc.tuple(seconds, alarm).map((given) => new Pass(...given));

const connects = instance.map((one) => new Connect(one));
const configure = fc.constantFrom(...Object.keys(CONFIGS), LIMITING).map((name) => new Configure(name));

/** Common steps appear more than once. */
const STEPS = [
  create,
  create,
  create,
  present,
  present,
  report,
  report,
  report,
  report,
  report,
  report,
  report,
  claim,
  tell,
  pass,
  pass,
  fc.tuple(which, fc.boolean()).map((given) => new Repeat(...given)),
  connects,
  connects,
  connects,
  instance.map((one) => new HangUp(one)),
  instance.map((one) => new HangUp(one)),
  fc.tuple(instance, fc.constantFrom(false, false, true)).map((given) => new Hold(...given)),
  fc.constantFrom(0, 1, 2, 3, 4).map((level) => new Throw(level)),
  fc.constantFrom(true, true, true, false).map((isResuming) => new Clear(isResuming)),
  configure,
  configure,
  fc.boolean().map((areSocketsKept) => new Sleep(areSocketsKept)),
  fc.constant(new Crash()),
  fc.constantFrom(1, 2).map((times) => new Ring(times)),
  fc.constant(new ReadHistory()),
];

/** Little happens to a tenant without a worker. */
const FIRST = new Present({ instance: "w1", provider: "p", tags: ["a", "b"], concurrency: 2 }, "nothing said", false);

/** From a new tenant to the end, when everything is done. */
const live = async (work: (model: Model, system: System) => Promise<void>): Promise<void> => {
  const model = new Model();
  const system = await System.open();
  try {
    await FIRST.run(model, system);
    await work(model, system);
    await calm(model, system);
  } finally {
    for (const { socket } of system.sockets.values()) socket.close();
  }
};

describe("a run that failed once does not fail again", () => {
  it.each(REGRESSIONS)("$found", ({ steps }) =>
    live(async (model, system) => {
      for (const step of steps) {
        if (!step.check(model)) throw new Error(`nothing to do for "${step}"`);
        await step.run(model, system);
      }
    }),
  );
});

describe(`a tenant on the real platform (seed ${SEED})`, () => {
  it(
    "is what the model says after every step, and everything gets done once nothing fails",
    {
      timeout: TIMEOUT_MS,
    },
    () =>
      fc.assert(
        fc.asyncProperty(fc.commands(STEPS, { maxCommands: MAX_STEPS, size: "max" }), (steps) =>
          live((model, real) => fc.asyncModelRun(() => ({ model, real }), steps)),
        ),
        { seed: SEED, numRuns: RUNS },
      ),
  );
});
