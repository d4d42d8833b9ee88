// The app in Node, with the objects and the history in workerd processes behind it. A process that dies is started
// again; meanwhile requests that need it get 503, and everything else continues.

import { hash } from "node:crypto";
import type { Server } from "node:http";
import type { BlockList } from "node:net";
import path from "node:path";
import { scheduler, setImmediate as turnEnd } from "node:timers/promises";
import { within } from "../../contract/text/within.ts";
import { err, ok } from "../../domain/words/result.ts";
import { log } from "../../log/log.ts";
import { app } from "../../src/app.ts";
import type { Env } from "../../src/env.ts";
import type { Home } from "../../src/home.ts";
import { type AppContext, authenticateCaller } from "../../src/http/auth.ts";
import { untilUp } from "../children/child-server.ts";
import { startHistory } from "../children/history-process.ts";
import { listenOn } from "../claim-port.ts";
import { LAYOUT } from "../config/serving-config.ts";
import { makeSocketFolder, removeIfPossible } from "../data/sockets.ts";
import type { Address, HomePlan, Served } from "../served.ts";
import { clientAddress } from "../settings/client-address.ts";
import { openWayOut } from "../way-out/open-way-out.ts";
import { onAnswerEnd } from "./answer-end.ts";
import { archiveFolder, serveArchive } from "./archive-folder.ts";
import { arrivedBody, arrivedBytes } from "./arrived-body.ts";
import { readHandshake } from "./client-upgrade.ts";
import { connectionsWithin, openFileLimit } from "./descriptors.ts";
import { type DiskWatch, watchDisk } from "./disk-watch.ts";
import { FramePaces } from "./frames/frame-paces.ts";
import { HeldFrames, passHeld } from "./frames/held-frames.ts";
import { frameCutter, Paces } from "./frames/pace.ts";
import { historyDatabase } from "./history-database.ts";
import { closeServer, edgeServer } from "./http-server.ts";
import { objectNamespace, objectPath } from "./object-namespace.ts";
import { packedForBrowser } from "./packed-answer.ts";
import { alreadySent, type Exchange, passOn, tunnel } from "./pass-on.ts";
import { pourOut } from "./read-stream.ts";
import { type Shared, TenantProcesses } from "./tenant-processes.ts";
import { TextConnections } from "./text-connections.ts";
import { FairTurns } from "./turns/fair-turns.ts";

/** Requests in progress may finish within this time when the server stops. */
const LAST_ANSWERS_MS = 2_000;

// The app uses the name that it has in workerd.
Object.assign(globalThis, { scheduler });

export const startNodeHome = async (plan: HomePlan, address: Address): Promise<Served> => {
  const folder = makeSocketFolder(plan.dir);
  const history = startHistory(plan, folder);
  const archive = plan.keepsArchive ? archiveFolder(plan.dir.archive) : null;
  const archiveSocket = path.join(folder, "archive.sock");
  const archiveServer = archive === null ? null : await serveArchive(archive, archiveSocket);
  const watch = watchDisk(plan.dir.root);
  const shared = { paces: new Paces(), turns: new FairTurns(), files: watch.files };
  const wayOut = await openWayOut(plan.proxies, folder);
  const sockets = {
    folder,
    history: history.sockets,
    archive: archive === null ? null : archiveSocket,
    detours: wayOut.detours,
  };
  const processes = new TenantProcesses(plan, sockets, shared);
  const children = [history.child, ...processes.children];
  const databases = Object.entries(history.sockets).map(
    ([binding, socket]) => [binding, new TextConnections(socket)] as const,
  );
  const env = {
    ...plan.project.vars,
    ...plan.environment,
    ...objectBindings(plan, processes, shared.turns),
    ...Object.fromEntries(databases.map(([binding, connections]) => [binding, historyDatabase(connections)])),
    SERVICE_AWAITED_WORKER: plan.awaited,
    ...(archive === null ? {} : { ARCHIVE_FOLDER: archive }),
    ...LAYOUT,
    HOME: homeOf(processes, shared, watch, plan.trustedProxies),
  };
  const server = serverOf(env, plan.trustedProxies);
  // Requests are served only when all processes are up; a process that cannot start is reported by the health wait.
  await untilUp(children);
  await listenOn(server, address.host, address.port);

  const served: Served = {
    url: address.url,
    earlyExit: () => children.map((child) => child.earlyExit()).find((exit) => exit !== null) ?? null,
    moveTo: async (next, awaited) => {
      await new Promise((resolve) => server.close(resolve));
      env.SERVICE_AWAITED_WORKER = awaited;
      await listenOn(server, next.host, next.port);
      return { ...served, url: next.url };
    },
    freeze: () => {
      for (const child of children) child.freeze();
    },
    thaw: () => {
      for (const child of children) child.thaw();
    },
    renew: () => {
      for (const child of processes.children) child.renew();
    },
    stop: async () => {
      // Requests are then refused and streams end with an error; a client that is cut off knows nothing. workerd waits
      // for open connections before it ends.
      await closeServer(server, LAST_ANSWERS_MS, () => processes.leaveObjects());
      // Jobs that nobody waits for any more would run again after the next start.
      await within(Promise.all(leftToDo), LAST_ANSWERS_MS);
      processes.closeObjects();
      for (const [, connections] of databases) connections.close();
      await Promise.all(children.map((child) => child.stop()));
      archiveServer?.close();
      wayOut.close();
      watch.stop();
      removeIfPossible(folder);
    },
  };
  return served;
};

const serverOf = (env: object, proxies: BlockList): Server =>
  edgeServer(
    (request, exchange) => {
      const answered = app.fetch(request, { __proto__: env, exchange } as unknown as Env, CONTEXT);
      return pourOut(packedForBrowser(answered, exchange), exchange);
    },
    connectionsWithin(openFileLimit()),
    (incoming) => clientAddress(incoming, proxies),
  );

const objectBindings = ({ project }: HomePlan, processes: TenantProcesses, turns: FairTurns) =>
  Object.fromEntries(
    project.durableObjects.map(({ binding }) => [
      binding,
      objectNamespace(
        binding,
        (name) => processes.of(tenantOf(name)).objects,
        (name) => turns.isBesideOthers(tenantOf(name)),
      ),
    ]),
  );

/** In the second turn: what has come meanwhile is read between the two. */
const othersFirst = async (): Promise<void> => {
  await turnEnd();
  await turnEnd();
};

/** An object's name begins with its tenant's. */
const tenantOf = (name: string): string => name.split("/")[0] ?? "";

const homeOf = (
  processes: TenantProcesses,
  { paces, turns, files }: Shared,
  { disk, expectWrite }: DiskWatch,
  proxies: BlockList,
): Home => {
  const [heldHere, heldByObjects] = [new HeldFrames(), new HeldFrames()];
  const framePaces = new FramePaces();
  return {
    passOn: async (c) => {
      const exchange = exchangeOf(c);
      const { edgeSocket } = processes.of(processes.count === 1 ? null : await callersTenant(c));
      if (exchange.head === undefined) return passOn(c, exchange, edgeSocket, files);
      readHandshake(exchange, c.get("requestId"), false);
      const tenant = c.get("caller")?.tenant ?? "";
      return tunnel(c, exchange, edgeSocket, () => [
        passHeld(heldByObjects, tenant),
        paces.open(tenant, frameCutter()),
      ]);
    },
    openSocket: async (c, tenant, opening) => {
      const exchange = exchangeOf(c);
      // Without `Connection: upgrade` it is a plain request.
      if (exchange.head === undefined) return err({ code: "upgrade_required" });
      // First, because the tenant closes a worker's older socket as soon as it accepts a new one.
      const upgrade = readHandshake(exchange, c.get("requestId"), opening.instance === null);
      const begin = () =>
        upgrade({ hold: (reading) => heldHere.open(tenant, reading), pace: () => framePaces.open(tenant) });
      const { objects } = processes.of(tenant);
      const opened = await objects.openSocket(objectPath("TENANT", tenant), opening, begin);
      return opened.ok ? ok(alreadySent()) : opened;
    },
    isWhole: () => processes.children.every((child) => child.isUp()),
    disk,
    othersFirst,
    longStep: (tenant) => turns.takeStep(tenant),
    arrivedBody: (c) => arrivedBody(exchangeOf(c).incoming),
    digest: (text) => hash("sha256", text, "hex"),
    addressOf: (c) => clientAddress(exchangeOf(c).incoming, proxies),
    onAnswerEnd: (c, then) => onAnswerEnd(exchangeOf(c), then),
    // A body that fails is reported by the adapter with its stack, for each of a stream's readers.
    cut: (c) => void exchangeOf(c).outgoing.destroy(),
    expectWrite: (c, bytes) => expectWrite(bytes, arrivedBytes(exchangeOf(c).incoming)),
    takeTurn: (tenant, work) => turns.take(tenant, work),
  };
};

const leftToDo = new Set<Promise<unknown>>();
/** For work that a handler leaves to be done after its answer; its failure must not end the process. */
const CONTEXT = {
  waitUntil: (work: Promise<unknown>) => {
    const done = work
      .catch((error: unknown) => log("error", "work.failed", { what: "after an answer" }, error))
      .finally(() => leftToDo.delete(done));
    leftToDo.add(done);
  },
  passThroughOnException: () => undefined,
  props: {},
} as unknown as ExecutionContext;

const exchangeOf = (c: AppContext): Exchange => (c.env as Env & { exchange: Exchange }).exchange;

/** Null if the caller has no valid key: it is refused in any process. */
const callersTenant = async (c: AppContext): Promise<string | null> => {
  const token = await authenticateCaller(c).catch(() => null);
  return token?.tenant ?? null;
};
