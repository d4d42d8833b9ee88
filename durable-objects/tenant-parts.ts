// The parts of a tenant's object, and what each is given of the others.

import { defaultDocument, historyDefaultsOf } from "../contract/config/config-history.ts";
import { publicOriginOf } from "../contract/text/public-origin.ts";
import { databaseOf, missingDatabase, numberOf } from "../domain/tenant/tenant-database.ts";
import { OperationCaller } from "./calls/operation-caller.ts";
import { OPERATOR, TurnRunner } from "./calls/turn-runner.ts";
import { EffectSender } from "./effects/effect-sender.ts";
import { FileObjects } from "./files/file-objects.ts";
import { linkPath, toSeconds } from "./files/link.ts";
import { HistoryWriter } from "./history/history-writer.ts";
import { SpanExporter } from "./history/span-exporter.ts";
import { Relocation } from "./moves/relocation.ts";
import { tenantOf } from "./object-name.ts";
import { Relays } from "./relay/relays.ts";
import { HibernatingSockets } from "./sockets/hibernating-sockets.ts";
import { LineSockets } from "./sockets/line-sockets.ts";
import { Live } from "./sockets/live.ts";
import { SocketIntake } from "./sockets/socket-intake.ts";
import { Sockets } from "./sockets/sockets.ts";
import { type Credential, identify } from "./steps/holders.ts";
import { handedAgainAt } from "./steps/leases.ts";
import { openStore, type Store } from "./store/open.ts";
import { boundsOf, jurisdictionOf, type TenantEnv, webhookFetch } from "./tenant-env.ts";
import type { TurnContext } from "./turn/turn.ts";
import { Wake } from "./turn/wake.ts";
import { ClaimWaits } from "./waits/claim-waits.ts";
import { JobWaits } from "./waits/job-waits.ts";
import { Waiters } from "./waits/waiters.ts";

export interface TenantParts {
  readonly store: Store;
  /** Which database has its history. */
  readonly databaseNumber: () => number;
  readonly hibernating: HibernatingSockets;
  readonly lineSockets: LineSockets;
  readonly sockets: Sockets;
  readonly wake: Wake;
  readonly relays: Relays;
  readonly files: FileObjects;
  readonly turns: TurnRunner;
  readonly operations: OperationCaller;
  readonly history: HistoryWriter;
  readonly intake: SocketIntake;
  readonly relocation: Relocation;
  readonly waiters: Waiters;
  readonly claims: ClaimWaits;
  readonly jobWaits: JobWaits;
  /** Whether a key, or a session, has not ended. */
  readonly isValid: (credential: Credential) => boolean;
}

type LinkSigner = TurnContext["signLink"];

const linkSigner =
  (env: TenantEnv, store: Store, tenant: string): LinkSigner =>
  ({ id, name }, untilAt) => {
    const link = { tenant, jurisdiction: jurisdictionOf(env, store), fileId: id, untilSeconds: toSeconds(untilAt) };
    return linkPath(env.SERVICE_SIGNING_SECRET ?? "", link, name);
  };

/** @throws Error if it is not bound: no other database is read instead. */
const boundDatabase = (env: TenantEnv, number: number): D1Database => {
  const found = databaseOf(env, number);
  if (found === undefined) throw new Error(missingDatabase(number));
  return found;
};

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: the parts know each other, so one place makes them all
export const makeParts = (state: DurableObjectState, env: TenantEnv): TenantParts => {
  const waiters = new Waiters();
  const lineSockets = new LineSockets();
  const { storage } = state;
  const tenant = tenantOf(state.id);
  const waitUntil = (work: Promise<unknown>): void => state.waitUntil(work);
  const store = openStore(storage);
  const hibernating = new HibernatingSockets(state);
  const sockets = new Sockets([hibernating, lineSockets]);
  const wake = new Wake(state);
  const turns: TurnRunner = new TurnRunner({
    defaults: defaultDocument(historyDefaultsOf(env)),
    bounds: boundsOf(env),
    tenant,
    storage,
    store,
    wake,
    sockets,
    claimingInstances: () => claims.instances(),
    deliveriesUnderWay: () => sender.deliveriesUnderWay,
    drainDueAt: () => history.dueAt(),
    publicOrigin: publicOriginOf(env),
    signLink: linkSigner(env, store, tenant),
    tell: (effects) => sender.send(effects),
  });
  /** Loads no memory: a caller that is refused must not cost that. */
  const databaseNumber = (): number => turns.loadedMemory?.database ?? numberOf(store.settings.historyPlace());
  const database = (): D1Database => boundDatabase(env, databaseNumber());
  const spans = new SpanExporter(env, tenant, database);
  const live = new Live(sockets, (read) => turns.read(read));
  const relays = new Relays(env, tenant, () => jurisdictionOf(env, store));
  const files = new FileObjects(env.FILES, tenant, () => jurisdictionOf(env, store));
  const sender = new EffectSender({
    tenant,
    sockets,
    waiters,
    live,
    relays,
    files,
    turns,
    waitUntil,
    fetch: webhookFetch(env),
    roomFor: (chars) => history.roomFor(chars),
  });
  const operations = new OperationCaller(store, turns);
  const history = new HistoryWriter({ tenant, database, store, wake, spans, waitUntil, turns });
  const relocation = new Relocation({
    tenant,
    operator: OPERATOR,
    storage,
    store,
    sockets,
    turns,
    wakeAll: () => waiters.notifyAll(""),
    flush: () => history.flushForMove(),
  });
  const intake = new SocketIntake({ tenant, database, store, sockets, live, turns });
  const claims = new ClaimWaits(
    waiters,
    (instance, isClaiming) => {
      turns.loadedMemory?.fleet.noteReach(instance, { isClaiming });
    },
    (instance) => {
      const member = turns.loadedMemory?.fleet.get(instance);
      return member === undefined ? null : handedAgainAt(member);
    },
  );
  const isValid = (credential: Credential): boolean => identify(store, credential, Date.now()).ok;
  const jobWaits = new JobWaits({
    call: (credential, name, request) => operations.call(credential, name, request),
    // Nobody waits in a tenant that moves.
    findJob: (id) => (store.settings.absence() === null ? store.jobs.find(id) : null),
    isValid,
    waiters,
  });
  return {
    store,
    databaseNumber,
    hibernating,
    lineSockets,
    sockets,
    wake,
    relays,
    files,
    turns,
    operations,
    history,
    intake,
    relocation,
    waiters,
    claims,
    jobWaits,
    isValid,
  };
};
