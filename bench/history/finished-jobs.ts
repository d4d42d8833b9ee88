// Makes history: runs many jobs to the end, in batches, on workers with WebSockets.

import { callEach, drainHistory, socketWire, type Tenant } from "../signalbox.ts";
import { SocketWorkers } from "../socket-workers.ts";
import { BATCH_JOBS } from "../workplace.ts";

const WORKERS = 8;
/** How many jobs the workers may hold together. */
const AT_A_TIME = 4_000;

/** Resolves when all are done and in history; `body` must ask for the socket workers' tag. */
export const finishJobs = async (tenant: Tenant, count: number, body: object): Promise<void> => {
  const workers = await connectFinishers(tenant);
  for (let given = 0; given < count; ) {
    const now = Math.min(AT_A_TIME, count - given);
    await createJobs(tenant, now, body);
    given += now;
    await workers.settleTo(given, 0);
  }
  await drainHistory(tenant);
  workers.close();
};

/** Workers that complete all waiting jobs with the socket workers' tag. */
export const connectFinishers = (tenant: Tenant): Promise<SocketWorkers> =>
  SocketWorkers.connect(
    socketWire(tenant),
    Array.from({ length: WORKERS }, (_, index) => `finisher-${index}`),
  );

export const createJobs = (tenant: Tenant, count: number, body: object): Promise<void> =>
  callEach(tenant, Math.ceil(count / BATCH_JOBS), (connection, call) => {
    const jobs = Array.from({ length: Math.min(BATCH_JOBS, count - call * BATCH_JOBS) }, () => body);
    return connection.call("POST", "/api/jobs/batch", { jobs });
  });
