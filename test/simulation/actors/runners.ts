// What the objects that call hosted providers do: they report by RPC, refuse keys, are lost, and report too late.

import { type ConfigDocument, configDocument } from "../../../contract/config/config.ts";
import type { JobReport } from "../../../contract/socket.ts";
import type { Step, StepKind } from "../plan.ts";
import { pickOf } from "../platform/random.ts";
import type { Call } from "../platform/runner-objects.ts";
import type { Action, SentReport, World } from "../world.ts";
import { completion, failure, noteUnheard, onTheWire } from "./workers.ts";

type Chances = Step["chances"];

/** Whether the tenant took it; null if it was not heard. */
const tell = async (
  world: World,
  { instance, id, lease }: Call,
  report: SentReport,
  refusal: string | null,
): Promise<boolean | null> => {
  const tenant = await world.shell.tenant();
  if (report.operation === "startJob") noteUnheard(world, { id, lease });
  const message = { ...onTheWire(report), id: world.fresh("message") } as unknown as JobReport;
  const isTaken = await tenant.hearRunner(instance, message, refusal).catch(() => null);
  if (isTaken === true && report.operation === "completeJob") world.model.acknowledge(id, lease);
  return isTaken;
};

const report = async (world: World, call: Call, chances: Chances): Promise<void> => {
  const { id, lease } = call;
  if (!call.isStarted) {
    call.isStarted = true;
    await tell(world, call, { operation: "startJob", request: { id, lease } }, null);
    return;
  }
  world.shell.runners.calls.delete(`${id}/${lease}`);
  if (chances[2] < 0.5) await tell(world, call, completion(world, id, lease, chances[3]), null);
  else
    await tell(world, call, failure(world, id, lease, chances), chances[2] > 0.9 ? "p refused the key: go away" : null);
};

const EDGE = { enabled: true, models: ["m"], max_concurrent: 2 };
const SETTINGS: readonly ConfigDocument[] = [
  { providers: { p: { edge: { ...EDGE, after_seconds: 15 } } } },
  { providers: { q: { edge: { ...EDGE, as: "peer" } } }, jobs: { reap_stale_after_seconds: 20 } },
  { providers: { p: { edge: EDGE }, cloud: { edge: { ...EDGE, max_concurrent: 40, after_seconds: 5 } } } },
].map((document) => configDocument.parse(document));

const configure: Action = async (world, [which]) => {
  const document = pickOf(SETTINGS, which);
  if (document === undefined) return;
  await world.shell.call(world.admin, "replaceConfig", { document, etag: world.fresh("etag"), ifMatch: null });
};

const pickCall = (calls: Iterable<Call>, chance: number): Call | undefined => pickOf([...calls], chance);

const runnerReports: Action = async (world, chances) => {
  const call = pickCall(world.shell.runners.calls.values(), chances[0]);
  if (call !== undefined) await report(world, call, chances);
};

const loseRunner: Action = ({ shell: { runners } }, [which]) => {
  const call = pickCall(runners.calls.values(), which);
  if (call !== undefined) runners.lose(call.instance);
};

/** The object that was lost had only lost its way to the tenant: its report comes late. */
const lostRunnerReports: Action = async (world, chances) => {
  const call = pickCall(world.shell.runners.lost, chances[0]);
  if (call !== undefined) await tell(world, call, completion(world, call.id, call.lease, chances[3]), null);
};

const loseKey: Action = ({ shell: { runners } }, [isLost]) => {
  runners.unavailable = isLost < 0.5 ? "no key for p" : null;
};

export const RUNNER_ACTIONS = {
  "call a provider without a worker": configure,
  "a runner reports": runnerReports,
  "a runner is lost": loseRunner,
  "a lost runner reports": lostRunnerReports,
  "the provider's key is lost or found": loseKey,
} satisfies Partial<Record<StepKind, Action>>;
