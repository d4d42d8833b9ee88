// The workerd processes with the tenants' objects. A tenant is always in the same one, by a hash of its name.

import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { type ProcessShare, shareOf, shareText } from "../../domain/tenant/share.ts";
import { type ChildServer, startChildServer } from "../children/child-server.ts";
import { type Detours, directSockets } from "../config/networks.ts";
import { type HistorySockets, objectsConfig } from "../config/serving-config.ts";
import { storageOf } from "../data/process-count.ts";
import type { HomePlan } from "../served.ts";
import type { FileRoom } from "./file-room.ts";
import type { Paces } from "./frames/pace.ts";
import { ObjectProcess } from "./object-process.ts";
import type { FairTurns } from "./turns/fair-turns.ts";

const SECRET_BYTES = 32;

/** What all tenants share. */
export interface Shared {
  readonly paces: Paces;
  readonly turns: FairTurns;
  readonly files: FileRoom;
}

/** Where the processes' sockets are, and those of what they reach. */
interface SocketPlaces {
  readonly folder: string;
  readonly history: HistorySockets;
  /** Null: there is no archive. */
  readonly archive: string | null;
  /** Null: no proxy leads out. */
  readonly detours: Detours | null;
}

interface TenantProcess {
  readonly child: ChildServer;
  /** Where it answers requests as the app does. */
  readonly edgeSocket: string;
  readonly objects: ObjectProcess;
}

export class TenantProcesses {
  readonly #all: readonly TenantProcess[];

  constructor(plan: HomePlan, sockets: SocketPlaces, shared: Shared) {
    const { processCount: count } = plan;
    this.#all = Array.from({ length: count }, (_, index) => startOne(plan, { index, count }, sockets, shared));
  }

  get count(): number {
    return this.#all.length;
  }

  get children(): ChildServer[] {
    return this.#all.map(({ child }) => child);
  }

  /** Null: any of them. */
  of(tenant: string | null): TenantProcess {
    return this.#all[tenant === null ? 0 : shareOf(tenant, this.count)] as TenantProcess;
  }

  /** Fails what is under way, and whatever may wait that follows. */
  leaveObjects(): void {
    for (const { objects } of this.#all) objects.leave();
  }

  closeObjects(): void {
    for (const { objects } of this.#all) objects.close();
  }
}

const startOne = (
  plan: HomePlan,
  share: ProcessShare,
  { folder, history, archive, detours }: SocketPlaces,
  { paces, turns, files }: Shared,
): TenantProcess => {
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
    detours,
  };
  const isFirst = share.index === 0;
  writeFileSync(configFile, objectsConfig(serving, { edge, door, history, isFirst }), { mode: 0o600 });
  const child = startChildServer({
    what: share.count === 1 ? "The tenant process" : `Tenant process ${share.index}`,
    config: configFile,
    environment,
    sockets: [edge, door, ...(isFirst ? directSockets(detours) : [])],
    probePath: "/health",
    inspectorPort: isFirst ? plan.inspectorPort : undefined,
  });
  return { child, edgeSocket: edge, objects: new ObjectProcess(door, secret, paces, turns, files) };
};
