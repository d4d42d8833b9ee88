// The app in Node, with the objects and the history in workerd processes behind it. A process that dies is started
// again; meanwhile requests that need it get 503, and everything else continues.

import { hash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import type { BlockList } from "node:net";
import path from "node:path";
import { scheduler, setImmediate as turnEnd } from "node:timers/promises";
import { type ProcessShare, shareOf, shareText } from "../../domain/tenant/share.ts";
import { err, ok } from "../../domain/words/result.ts";
import { log } from "../../log/log.ts";
import { app } from "../../src/app.ts";
import type { Env } from "../../src/env.ts";
import type { Home } from "../../src/home.ts";
import { type AppContext, authenticateCaller } from "../../src/http/auth.ts";
import { type ChildServer, startChildServer, untilUp } from "../children/child-server.ts";
import { startHistory } from "../children/history-process.ts";
import type { Exit } from "../children/supervised.ts";
import { type HistorySockets, LAYOUT, objectsConfig } from "../config/serving-config.ts";
import { storageOf } from "../data/process-count.ts";
import { makeSocketFolder, removeIfPossible } from "../data/sockets.ts";
import type { Address, HomePlan, Served } from "../served.ts";
import { clientAddress } from "../settings/client-address.ts";
import { onAnswerEnd } from "./answer-end.ts";
import { archiveFolder, serveArchive } from "./archive-folder.ts";
import { arrivedBody, arrivedBytes } from "./arrived-body.ts";
import { readHandshake } from "./client-upgrade.ts";
import { connectionsWithin, openFileLimit } from "./descriptors.ts";
import { type DiskWatch, watchDisk } from "./disk-watch.ts";
import type { FileRoom } from "./file-room.ts";
import { FramePaces } from "./frames/frame-paces.ts";
import { HeldFrames, passHeld } from "./frames/held-frames.ts";
import { frameCutter, Paces } from "./frames/pace.ts";
import { historyDatabase } from "./history-database.ts";
import { closeServer, edgeServer } from "./http-server.ts";
import { objectNamespace, objectPath } from "./object-namespace.ts";
import { ObjectProcess } from "./object-process.ts";
import { alreadySent, type Exchange, passOn, tunnel } from "./pass-on.ts";
import { pourOut } from "./read-stream.ts";
import { TextConnections } from "./text-connections.ts";
import { FairTurns } from "./turns/fair-turns.ts";

const SECRET_BYTES = 32;
/** Requests in progress may finish within this time when the server stops. */
const LAST_ANSWERS_MS = 2_000;

interface Objects {
  readonly child: ChildServer;
  readonly edgeSocket: string;
  readonly process: ObjectProcess;
}

// The app uses the name that it has in workerd.
Object.assign(globalThis, { scheduler });

export const startNodeHome = async (plan: HomePlan, address: Address): Promise<Served> => {
  const sockets = makeSocketFolder(plan.dir);
  const history = startHistory(plan, sockets);
  const shares = Array.from({ length: plan.processCount }, (_, index) => ({ index, count: plan.processCount }));
  const archive = plan.keepsArchive ? archiveFolder(plan.dir.archive) : null;
  const archiveSocket = path.join(sockets, "archive.sock");
  const archiveServer = archive === null ? null : await serveArchive(archive, archiveSocket);
  const socketOf = { history: history.sockets, archive: archive === null ? null : archiveSocket };
  const paces = new Paces();
  const turns = new FairTurns();
  const watch = watchDisk(plan.dir.root);
  const objects = shares.map((share) => startObjects(plan, share, sockets, socketOf, paces, turns, watch));
  const children = [history.child, ...objects.map(({ child }) => child)];
  const databases = Object.entries(history.sockets).map(
    ([binding, socket]) => [binding, new TextConnections(socket)] as const,
  );

  const env = {
    ...plan.project.vars,
    ...plan.environment,
    ...Object.fromEntries(
      plan.project.durableObjects.map(({ binding }) => [
        binding,
        objectNamespace(
          binding,
          (name) => processWith(objects, name),
          (name) => turns.isBesideOthers(tenantOf(name)),
        ),
      ]),
    ),
    ...Object.fromEntries(databases.map(([binding, connections]) => [binding, historyDatabase(connections)])),
    SERVICE_AWAITED_WORKER: plan.awaited,
    ...(archive === null ? {} : { ARCHIVE_FOLDER: archive }),
    ...LAYOUT,
    HOME: homeOf(objects, paces, turns, watch, plan.trustedProxies),
  };
  const server = edgeServer(
    (request, exchange) =>
      pourOut(app.fetch(request, { __proto__: env, exchange } as unknown as Env, CONTEXT), exchange),
    connectionsWithin(openFileLimit()),
    (incoming) => clientAddress(incoming, plan.trustedProxies),
  );
  const earlyExit = (): Exit | null => children.map((child) => child.earlyExit()).find((exit) => exit !== null) ?? null;
  // Requests are served only when all processes are up; a process that cannot start is reported by the health wait.
  await untilUp(children);
  const listen = async ({ host, port }: Address): Promise<void> => {
    server.listen(port, host);
    await once(server, "listening");
  };
  await listen(address);

  const served: Served = {
    url: address.url,
    earlyExit,
    moveTo: async (next, awaited) => {
      await new Promise((resolve) => server.close(resolve));
      env.SERVICE_AWAITED_WORKER = awaited;
      await listen(next);
      return { ...served, url: next.url };
    },
    freeze: () => {
      for (const child of children) child.freeze();
    },
    thaw: () => {
      for (const child of children) child.thaw();
    },
    renew: () => {
      for (const { child } of objects) child.renew();
    },
    stop: async () => {
      // Requests are then refused and streams end with an error; a client that is cut off knows nothing. workerd waits
      // for open connections before it ends.
      await closeServer(server, LAST_ANSWERS_MS, () => {
        for (const { process } of objects) process.close();
      });
      for (const [, connections] of databases) connections.close();
      await Promise.all(children.map((child) => child.stop()));
      archiveServer?.close();
      watch.stop();
      removeIfPossible(sockets);
    },
  };
  return served;
};

/** In the second turn: what has come meanwhile is read between the two. */
const othersFirst = async (): Promise<void> => {
  await turnEnd();
  await turnEnd();
};

/** An object's name begins with its tenant's. */
const tenantOf = (name: string): string => name.split("/")[0] ?? "";

const processWith = (objects: readonly Objects[], name: string): ObjectProcess =>
  (objects[shareOf(tenantOf(name), objects.length)] as Objects).process;

const homeOf = (
  objects: readonly Objects[],
  paces: Paces,
  turns: FairTurns,
  { disk, expectWrite, files }: DiskWatch,
  proxies: BlockList,
): Home => {
  const [heldHere, heldByObjects] = [new HeldFrames(), new HeldFrames()];
  const framePaces = new FramePaces();
  return {
    passOn: (c) => passOnTo(objects, paces, heldByObjects, files, c),
    openSocket: async (c, tenant, opening) => {
      const exchange = exchangeOf(c);
      // Without `Connection: upgrade` it is a plain request.
      if (exchange.head === undefined) return err({ code: "upgrade_required" });
      // First, because the tenant closes a worker's older socket as soon as it accepts a new one.
      const upgrade = readHandshake(exchange, c.get("requestId"), opening.instance === null);
      const process = processWith(objects, tenant);
      const begin = () =>
        upgrade({ hold: (reading) => heldHere.open(tenant, reading), pace: () => framePaces.open(tenant) });
      const opened = await process.openSocket(objectPath("TENANT", tenant), opening, begin);
      return opened.ok ? ok(alreadySent()) : opened;
    },
    isWhole: () => objects.every(({ child }) => child.isUp()),
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

/** For work that a handler leaves to be done after its answer; its failure must not end the process. */
const CONTEXT = {
  waitUntil: (work: Promise<unknown>) =>
    void work.catch((error: unknown) => log("error", "work.failed", { what: "after an answer" }, error)),
  passThroughOnException: () => undefined,
  props: {},
} as unknown as ExecutionContext;

interface ServiceSockets {
  readonly history: HistorySockets;
  readonly archive: string | null;
}

const startObjects = (
  plan: HomePlan,
  share: ProcessShare,
  folder: string,
  { history, archive }: ServiceSockets,
  paces: Paces,
  turns: FairTurns,
  { files }: DiskWatch,
): Objects => {
  const { project, dir } = plan;
  const secret = randomBytes(SECRET_BYTES).toString("base64url");
  const environment = { ...plan.environment, SERVICE_SHARE: shareText(share), SERVICE_PRIVATE_SECRET: secret };
  const configFile = share.index === 0 ? dir.servingConfig : dir.servingConfig.replace(/(\.\w+)$/, `-${share.index}$1`);
  const edge = path.join(folder, `edge-${share.index}.sock`);
  const door = path.join(folder, `door-${share.index}.sock`);
  const storage = storageOf(dir, share);
  for (const directory of Object.values(storage)) mkdirSync(directory, { recursive: true, mode: 0o700 });
  const serving = {
    project,
    storage,
    configFile,
    archive: archive === null ? null : { socket: archive },
    environment: Object.keys(environment),
    certificates: plan.certificates,
    heapMib: plan.heapMib,
  };
  writeFileSync(configFile, objectsConfig(serving, { edge, door, history }), { mode: 0o600 });
  const what = share.count === 1 ? "The tenant process" : `Tenant process ${share.index}`;
  const child = startChildServer({
    what,
    config: configFile,
    environment,
    sockets: [edge, door],
    probePath: "/health",
    inspectorPort: share.index === 0 ? plan.inspectorPort : undefined,
  });
  return {
    child,
    edgeSocket: edge,
    process: new ObjectProcess(door, secret, paces, turns, files),
  };
};

const exchangeOf = (c: AppContext): Exchange => (c.env as Env & { exchange: Exchange }).exchange;

/** The process with the caller's tenant; any process if the caller has no valid key, because it is refused there. */
const processOf = async (c: AppContext, objects: readonly Objects[]): Promise<Objects> => {
  const token = objects.length === 1 ? null : await authenticateCaller(c).catch(() => null);
  return objects[token === null ? 0 : shareOf(token.tenant, objects.length)] as Objects;
};

const passOnTo = async (
  objects: readonly Objects[],
  paces: Paces,
  held: HeldFrames,
  files: FileRoom,
  c: AppContext,
): Promise<Response> => {
  const exchange = exchangeOf(c);
  const { edgeSocket } = await processOf(c, objects);
  if (exchange.head === undefined) return passOn(c, exchange, edgeSocket, files);
  readHandshake(exchange, c.get("requestId"), false);
  const tenant = c.get("caller")?.tenant ?? "";
  return tunnel(c, exchange, edgeSocket, () => [passHeld(held, tenant), paces.open(tenant, frameCutter())]);
};
