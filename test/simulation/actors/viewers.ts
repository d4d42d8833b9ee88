// Dashboard viewers: they get every change, numbered without a gap, and in the end the actual state.

import { isFinal } from "../../../domain/words/job-status.ts";
import type { Snapshot } from "../invariants/snapshot.ts";
import type { StepKind } from "../plan.ts";
import type { SimulatedSocket } from "../platform/sockets.ts";
import type { Action, World } from "../world.ts";

const MOST_VIEWERS = 2;

export interface Viewer {
  readonly socket: SimulatedSocket;
  /** The life of the object at the other end; an object that died has forgotten its unsent messages. */
  readonly life: number;
  seq: number;
  /** The statuses of the jobs it was shown, as last sent. */
  readonly statuses: Map<string, string>;
}

interface Told {
  readonly type: string;
  readonly seq: number;
  readonly job?: { readonly id: string; readonly status: string };
  readonly jobs?: readonly { readonly id: string; readonly status: string }[];
}

/** Opens the live view; earlier viewers may have to leave. */
export const watch = async (world: World): Promise<void> => {
  const { shell } = world;
  const tenant = await shell.tenant();
  const headers = new Headers({ "x-signalbox-credential": JSON.stringify(world.admin) });
  const response = await tenant.fetch({ headers } as Request).catch(() => null);
  if (response?.status !== 101) return;
  const socket = response.webSocket as unknown as SimulatedSocket;
  for (const old of world.viewers.splice(0, world.viewers.length - MOST_VIEWERS + 1)) old.socket.close();
  world.viewers.push({ socket, life: shell.lifeCount, seq: 0, statuses: new Map() });
};

const hear = (viewer: Viewer, told: Told): string | null => {
  if (told.seq !== viewer.seq + 1) return `a viewer was told ${told.type} as number ${told.seq} after ${viewer.seq}`;
  viewer.seq = told.seq;
  if (told.type === "snapshot") viewer.statuses.clear();
  for (const { id, status } of told.jobs ?? []) viewer.statuses.set(id, status);
  if (told.job !== undefined) viewer.statuses.set(told.job.id, told.job.status);
  return null;
};

export const viewersMissNothing = (_before: Snapshot, _now: Snapshot, world: World): string | null => {
  for (const viewer of world.viewers)
    for (const frame of viewer.socket.inbox.splice(0)) {
      const parsed = JSON.parse(frame) as Told | Told[];
      for (const told of Array.isArray(parsed) ? parsed : [parsed]) {
        const wrong = hear(viewer, told);
        if (wrong !== null) return wrong;
      }
    }
  return null;
};

/** Once nothing moves any more. */
export const viewersKnowTheEnd = (world: World): string | null => {
  const { model, shell } = world;
  for (const { socket, life, statuses } of world.viewers) {
    if (!socket.isOpen || life !== shell.lifeCount) continue;
    for (const [id, shown] of statuses) {
      const job = model.seen.get(id)?.job;
      if (job !== undefined && isFinal(job.status) && job.status !== shown)
        return `a viewer is shown job ${id} as ${shown}, and it is ${job.status}`;
    }
  }
  return null;
};

export const VIEWER_ACTIONS = { "watch the dashboard": watch } satisfies Partial<Record<StepKind, Action>>;
