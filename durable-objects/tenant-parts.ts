// The parts of a tenant's object. Each is given parts that were made before it. Only the runner of turns is told of
// later ones, because these run turns themselves.

import { defaultDocument, historyDefaultsOf } from "../contract/config/config-history.ts";
import { publicOriginOf } from "../contract/text/public-origin.ts";
import { databaseOf, MissingDatabase, numberOf } from "../domain/tenant/tenant-database.ts";
import { OperationCaller } from "./calls/operation-caller.ts";
import { OPERATOR, TurnRunner } from "./calls/turn-runner.ts";
import { EffectSender } from "./effects/effect-sender.ts";
import { FileObjects } from "./files/file-objects.ts";
import { linkPath } from "./files/link.ts";
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

type LinkSigner = TurnContext["signLink"];

const linkSigner =
  (env: TenantEnv, store: Store, tenant: string): LinkSigner =>
  ({ id, name }, untilAt) => {
    const link = { tenant, jurisdiction: jurisdictionOf(env, store), fileId: id, untilAt };
    return linkPath(env.SERVICE_SIGNING_SECRET ?? "", link, name);
  };

/** @throws Error if it is not bound: no other database is read instead. */
const boundDatabase = (env: TenantEnv, number: number): D1Database => {
  const found = databaseOf(env, number);
  if (found === undefined) throw new MissingDatabase(number);
  return found;
};

/** What the others rest on: where rows are kept, and who is there to be told. */
const foundationOf = (state: DurableObjectState) => {
  const store = openStore(state.storage);
  const hibernating = new HibernatingSockets(state);
  const lineSockets = new LineSockets();
  return {
    tenant: tenantOf(state.id),
    storage: state.storage,
    store,
    hibernating,
    lineSockets,
    sockets: new Sockets([hibernating, lineSockets]),
    wake: new Wake(state),
    waiters: new Waiters(),
    waitUntil: (work: Promise<unknown>): void => state.waitUntil(work),
  };
};

export const makeParts = (state: DurableObjectState, env: TenantEnv) => {
  const foundation = foundationOf(state);
  const { tenant, store, sockets, waiters } = foundation;
  const turns = new TurnRunner({
    ...foundation,
    defaults: defaultDocument(historyDefaultsOf(env)),
    bounds: boundsOf(env),
    publicOrigin: publicOriginOf(env),
    signLink: linkSigner(env, store, tenant),
  });
  /** Which database has its history. Loads no memory: a caller that is refused must not cost that. */
  const databaseNumber = (): number => turns.loadedMemory?.database ?? numberOf(store.settings.historyPlace());
  const database = (): D1Database => boundDatabase(env, databaseNumber());
  const history = new HistoryWriter({
    ...foundation,
    database,
    spans: new SpanExporter(env, tenant, database),
    turns,
  });
  const live = new Live(sockets, (read) => turns.read(read));
  const relays = new Relays(env, tenant, () => jurisdictionOf(env, store));
  const files = new FileObjects(env.FILES, tenant, () => jurisdictionOf(env, store));
  const sender = new EffectSender({
    ...foundation,
    live,
    relays,
    files,
    turns,
    fetch: webhookFetch(env),
    roomFor: (chars) => history.roomFor(chars),
  });
  const claims = new ClaimWaits(
    waiters,
    (instance, isClaiming) => turns.loadedMemory?.fleet.noteReach(instance, { isClaiming }),
    (instance) => {
      const member = turns.loadedMemory?.fleet.get(instance);
      return member === undefined ? null : handedAgainAt(member);
    },
  );
  turns.attach({ claims, history, sender });
  const operations = new OperationCaller(store, turns);
  /** Whether a key, or a session, has not ended. */
  const isValid = (credential: Credential): boolean => identify(store, credential, Date.now()).ok;
  const jobWaits = new JobWaits({
    call: (credential, name, request) => operations.call(credential, name, request),
    // Nobody waits in a tenant that moves.
    findJob: (id) => (store.settings.absence() === null ? store.jobs.find(id) : null),
    isValid,
    waiters,
  });
  const relocation = new Relocation({
    ...foundation,
    operator: OPERATOR,
    turns,
    wakeAll: () => waiters.notifyAll(""),
    flush: () => history.flushForMove(),
  });
  const intake = new SocketIntake({ ...foundation, database, live, turns });
  return {
    ...foundation,
    databaseNumber,
    turns,
    history,
    relays,
    files,
    claims,
    operations,
    isValid,
    jobWaits,
    relocation,
    intake,
  };
};

export type TenantParts = ReturnType<typeof makeParts>;
