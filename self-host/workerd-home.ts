// Edge and objects in one workerd process, the history in another: the app as Cloudflare runs it. For trying the
// product as deployed, and for systems without Unix sockets, where the history is in the same process.

import { writeFileSync } from "node:fs";
import { WHOLE } from "../domain/tenant/share.ts";
import { untilUp } from "./children/child-server.ts";
import { startHistory } from "./children/history-process.ts";
import { keepRunning, WORKERD_PACE } from "./children/keep-running.ts";
import type { Exit } from "./children/supervised.ts";
import { startWorkerd } from "./children/workerd.ts";
import { directSockets } from "./config/networks.ts";
import { wholeConfig } from "./config/serving-config.ts";
import { storageOf } from "./data/process-count.ts";
import { clearSockets, makeSocketFolder, removeIfPossible } from "./data/sockets.ts";
import { ExitError } from "./exit-error.ts";
import type { Address, HomePlan, Served } from "./served.ts";
import { openWayOut } from "./way-out/open-way-out.ts";

const STOP_GRACE_MS = 2_000;
/** A process that died sooner than this never served. */
const EARLY_MS = 1_000;

export const startWorkerdHome = async (plan: HomePlan, address: Address): Promise<Served> => {
  const { project, dir } = plan;
  if (plan.processCount > 1)
    throw new ExitError("The data folder has several processes, which need the edge in Node: remove --edge workerd.");
  const environment: Record<string, string> =
    plan.awaited === undefined ? plan.environment : { ...plan.environment, SERVICE_AWAITED_WORKER: plan.awaited };
  const folder = process.platform === "win32" ? null : makeSocketFolder(dir);
  const wayOut = await openWayOut(plan.proxies, folder);
  const serving = {
    project,
    storage: storageOf(dir, WHOLE),
    configFile: dir.servingConfig,
    certificates: plan.certificates,
    heapMib: plan.heapMib,
    archive: plan.keepsArchive ? { folder: dir.archive } : null,
    environment: Object.keys(environment),
    detours: wayOut.detours,
  };
  const history = folder === null ? null : startHistory(plan, folder);
  writeFileSync(dir.servingConfig, wholeConfig(serving, history?.sockets ?? dir, address), { mode: 0o600 });
  if (history !== null) await untilUp([history.child]);
  const { kept, earlyExit } = keepServing(dir.servingConfig, environment, {
    inspectorPort: plan.inspectorPort,
    sockets: directSockets(wayOut.detours),
  });
  return {
    url: address.url,
    earlyExit: () => earlyExit() ?? history?.child.earlyExit() ?? null,
    freeze: () => {
      kept.current().freeze();
      history?.child.freeze();
    },
    thaw: () => {
      history?.child.thaw();
      kept.current().thaw();
    },
    renew: () => kept.renew(STOP_GRACE_MS),
    stop: async () => {
      await kept.stop(STOP_GRACE_MS);
      await history?.child.stop();
      wayOut.close();
      if (folder !== null) removeIfPossible(folder);
    },
  };
};

const keepServing = (
  config: string,
  environment: Record<string, string>,
  { inspectorPort, sockets }: { inspectorPort: number | undefined; sockets: readonly string[] },
) => {
  const startedAt = performance.now();
  let early: Exit | null = null;
  const kept = keepRunning("workerd", WORKERD_PACE, () => {
    clearSockets(...sockets);
    const running = startWorkerd(config, environment, inspectorPort);
    running.exited
      .then((exit) => {
        if (performance.now() - startedAt < EARLY_MS) early ??= exit;
      })
      .catch(() => {
        early ??= { code: null, signal: null };
      });
    return running;
  });
  return { kept, earlyExit: () => early };
};
