// Open jobs of a key with a limit on jobs, its waiting ones, and those of each person of it: counted with each change of
// a job. Stored, so that waking reads no job for them; a person without any has no count.

import { userOf, waitingOf } from "../../domain/access/key-limits.ts";
import type { Job } from "../../domain/job/job.ts";
import type { Store } from "../store/open.ts";
import { isOpen } from "./counting.ts";
import type { Memory } from "./memory/memory.ts";

interface Counted {
  readonly memory: Pick<Memory, "openByKey">;
  readonly store: Pick<Store, "keys" | "keyUse">;
}

export const putOpenCount = ({ memory: { openByKey }, store }: Counted, name: string, count: number): void => {
  if (count <= 0 && name.includes("/")) {
    openByKey.delete(name);
    store.keyUse.forgetOpenCount(name);
    return;
  }
  openByKey.set(name, count);
  store.keyUse.putOpenCount(name, count);
};

/** Lines of batches do not count. */
export const countByKey = (turn: Counted, before: Job | null, after: Job): void => {
  const { keyId, fairnessKey: user, status } = after;
  if (keyId === null || after.batch !== null || before?.status === status) return;
  const limits = turn.store.keys.limitsOf(keyId);
  if (limits === null) return;
  const opened = Number(isOpen(status)) - Number(before !== null && isOpen(before.status));
  const waited = Number(status === "pending") - Number(before?.status === "pending");
  const note = (limit: number | null | undefined, name: string, change: number): void => {
    if (limit != null && change !== 0) putOpenCount(turn, name, (turn.memory.openByKey.get(name) ?? 0) + change);
  };
  note(limits.concurrent, keyId, opened);
  note(limits.maxWaiting, waitingOf(keyId), waited);
  if (user !== null) note(limits.perUser?.concurrent, userOf(keyId, user), opened);
};
